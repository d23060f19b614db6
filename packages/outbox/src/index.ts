export { enqueue, type InsertStatement, insertOf, type Queryable } from './enqueue';
export { Relay, type RelayOptions, type RelayStatus } from './relay';
export { DEFAULT_TABLE, migrate, migrationOf } from './table';
