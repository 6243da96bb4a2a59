/** What the catalogue is asked about a table. `$1`: its quoted name, as in SQL. */

/** No row: there is no such table. */
export const TABLE = `
select n.nspname || '.' || c.relname as name, c.relkind as kind,
  c.relpersistence = 'u' as is_unlogged, row_security_active(c.oid) as has_row_security,
  exists (select from pg_trigger t
    where t.tgrelid = c.oid and t.tgenabled <> 'D' and t.tgtype & 68 = 68) as has_instead_of_insert,
  current_user as role
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.oid = to_regclass($1)`;

/** A trigger before the insert may fill in what must have a value. */
export const COLUMNS = `
select a.attname as name, format_type(a.atttypid, a.atttypmod) as shown_type,
  quote_ident(n.nspname) || '.' || quote_ident(t.typname) as cast_type,
  coalesce(e.typname, b.typname, t.typname) as type_name,
  e.typname is not null as is_array,
  a.attnotnull and not exists (select from pg_trigger r
    where r.tgrelid = a.attrelid and r.tgenabled <> 'D' and r.tgtype & 7 = 7) as is_required,
  a.atthasdef or a.attidentity <> '' as has_default,
  a.attgenerated <> '' or a.attidentity = 'a' as is_generated,
  array(select it from unnest(array['insert', 'update', 'select']) as it
    where has_column_privilege(a.attrelid, a.attnum, it)) as rights
from pg_attribute a
join pg_type t on t.oid = a.atttypid
join pg_namespace n on n.oid = t.typnamespace
left join pg_type b on b.oid = t.typbasetype and t.typtype = 'd'
left join pg_type e on e.oid = coalesce(b.typelem, t.typelem) and t.typcategory = 'A'
where a.attrelid = to_regclass($1) and a.attnum > 0 and not a.attisdropped
order by a.attnum`;

export const PRIMARY_KEY = `
select a.attname as name
from pg_index i
join unnest(i.indkey) with ordinality as k(attnum, place) on true
join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
where i.indrelid = to_regclass($1) and i.indisprimary
order by k.place`;

export const UNIQUE_KEYS = `
select array_agg(a.attname::text) as names
from pg_index i
join unnest(i.indkey) as k(attnum) on true
left join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
where i.indrelid = to_regclass($1) and i.indisunique and i.indisvalid and i.indimmediate
  and i.indpred is null and i.indexprs is null
group by i.indexrelid`;

/** `$1`: the name without its schema. */
export const SIMILAR_TABLES = `
select array_to_string(current_schemas(false), ', ') as searched,
  array(select n.nspname || '.' || c.relname
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where lower(c.relname) = lower($1) and c.relkind in ('r', 'p')
      and n.nspname <> 'information_schema' and n.nspname !~ '^pg_'
    order by 1 limit 3) as similar_names`;
