{# Views, and models that other databases update in steps: the query is kept fresh, so that a run defines it and no more.
   A view whose query has not changed keeps its state. `--full-refresh` drops it first, with the views that read it. #}
{% macro deltic_view() %}
  {%- set target = this.incorporate(type='view') -%}
  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {%- do deltic_dropped_if_other('view') -%}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}
  {% call statement('main') -%}
    create or replace view {{ target }} as {{ sql }}
  {%- endcall %}
  {{ deltic_ended(target) }}
  {{ return({'relations': [target]}) }}
{% endmacro %}

{% materialization view, adapter='deltic' %}{{ return(deltic_view()) }}{% endmaterialization %}

{% materialization materialized_view, adapter='deltic' %}{{ return(deltic_view()) }}{% endmaterialization %}

{% materialization incremental, adapter='deltic' %}{{ return(deltic_view()) }}{% endmaterialization %}

{# A copy of the moment. A second run changes the rows that differ, in one transaction, and views over it follow. #}
{% materialization table, adapter='deltic' %}
  {%- set target = this.incorporate(type='table') -%}
  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {%- set is_new = deltic_dropped_if_other('table') -%}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}
  {% if is_new %}
    {% call statement('main') %}create table {{ target }} as {{ sql }}{% endcall %}
  {% else %}
    {% call statement('cleared') %}delete from {{ target }}{% endcall %}
    {% call statement('main') %}insert into {{ target }} {{ sql }}{% endcall %}
  {% endif %}
  {{ deltic_ended(target) }}
  {{ return({'relations': [target]}) }}
{% endmaterialization %}

{% materialization snapshot, adapter='deltic' %}
  {{ exceptions.raise_compiler_error(
    "Deltic has no snapshots: views are of the present; insert what they say into a table of yours, with the time") }}
{% endmaterialization %}

{# Drops what has the model's name as another kind, or before a full refresh; whether there is nothing of the name now. #}
{% macro deltic_dropped_if_other(kind) %}
  {%- set existing = load_cached_relation(this) -%}
  {%- if existing is not none and (existing.type != kind or should_full_refresh()) -%}
    {{ adapter.drop_relation(existing) }}
    {{ return(true) }}
  {%- endif -%}
  {{ return(existing is none) }}
{% endmacro %}

{% macro deltic_ended(target) %}
  {%- do persist_docs(target, model) -%}
  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {{ adapter.commit() }}
  {{ run_hooks(post_hooks, inside_transaction=False) }}
{% endmacro %}
