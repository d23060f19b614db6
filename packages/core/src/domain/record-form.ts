/**
 * The form in which events and the lines of deliveries' logs are written. Both are read. `former`: the one that processes of
 * the version before can read as well.
 */
export type RecordForm = 'current' | 'former';
