{{ config(materialized='incremental', unique_key='order_id') }}
{% set methods = ['card', 'coupon', 'gift'] %}

with paid as (
    select
        order_id,
        {% for method in methods -%}
        sum(case when method = '{{ method }}' then amount else 0 end) as {{ method }}_amount,
        {% endfor -%}
        sum(amount) as amount
    from {{ ref('stg_payments') }}
    group by order_id
)

select
    o.order_id,
    o.customer_id,
    o.order_date,
    o.status,
    {% for method in methods -%}
    p.{{ method }}_amount,
    {% endfor -%}
    p.amount
from {{ ref('stg_orders') }} o
left join paid p on o.order_id = p.order_id
{% if is_incremental() %}
where o.order_date > (select max(order_date) from {{ this }})
{% endif %}
