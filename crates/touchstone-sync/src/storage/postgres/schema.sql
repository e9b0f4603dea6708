-- The tables of the PostgreSQL storage, in the SQL that CockroachDB and YugabyteDB take too. Every key begins with the user, whose
-- number is a random one: users are spread over ranges, and what belongs to one lies together.
create table if not exists sync_user (
    id bigint primary key,
    name text not null unique,
    history text not null,
    revision bigint not null default 0,
    horizon bigint not null default 0,
    devices bigint not null default 0
);
create table if not exists sync_device (
    user_id bigint not null,
    name text not null,
    number bigint not null,
    primary key (user_id, name)
);
create index if not exists sync_device_name on sync_device (name);
create table if not exists sync_object (
    user_id bigint not null,
    id text not null,
    revision bigint not null,
    device bigint not null,
    stored bigint not null,
    -- UTF-8: a text of PostgreSQL cannot hold U+0000, and that of a device may.
    data bytea,
    primary key (user_id, id)
);
create index if not exists sync_object_revision on sync_object (user_id, revision);
create index if not exists sync_object_deleted on sync_object (user_id, stored) where data is null;
create table if not exists sync_applied (
    user_id bigint not null,
    device bigint not null,
    change text not null,
    revision bigint not null,
    stored bigint not null,
    overwrote text,
    overwrote_revision bigint not null,
    overwrote_data bytea,
    primary key (user_id, device, change)
);
create index if not exists sync_applied_stored on sync_applied (user_id, stored);
create table if not exists sync_token (
    hash bytea primary key,
    user_id bigint not null,
    made bigint not null,
    expires bigint
);
-- How far the time of the services has come, by which deletions and names of changes age.
create table if not exists sync_time (
    id bigint primary key,
    seconds bigint not null
);
create table if not exists sync_life (
    id bigint primary key,
    place text not null,
    life text not null
);
