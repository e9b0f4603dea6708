-- What each user has, by name.
select known.name, known.devices, count(object.data), count(object.user_id) - count(object.data),
    coalesce(sum(length(object.data)), 0)::bigint, known.revision
from sync_user known left join sync_object object on object.user_id = known.id
group by known.id, known.name, known.devices, known.revision
order by known.name
