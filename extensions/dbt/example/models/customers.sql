select
    c.customer_id,
    c.name,
    min(o.order_date) as first_order,
    count(o.order_id) as orders,
    coalesce(sum(o.amount), 0) as value
from {{ ref('stg_customers') }} c
left join {{ ref('orders') }} o on c.customer_id = o.customer_id
group by c.customer_id, c.name
