select count(*) as n from {{ ref('best') }}
