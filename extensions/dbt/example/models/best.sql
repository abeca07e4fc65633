{{ config(materialized='table') }}
select customer_id, name, value from {{ ref('customers') }} where value > 0
