/** The `data` of each event type that every service knows. A service may have [types of its own](../README.md) as well. */
export interface BuiltInEvents {
  /** A search phrase ranks just below the first page. */
  'keyword.quick_win': {
    keyword: string;
    /** Its rank, from 1. */
    position: number;
    /** Searches a month. */
    volume: number;
  };
  /** A content brief was written and is ready to be read. */
  'brief.created': {
    brief_id: string;
    title: string;
    keyword?: string | undefined;
    url?: string | undefined;
  };
  /** An import ended. */
  'import.completed': {
    import_id: string;
    /** What was imported, such as `search_console` or `csv`. */
    source: string;
    total_rows: number;
    /** How many of these rows could not be imported. */
    failed_rows: number;
  };
}
