import { BULK_TYPE, SEQUENTIAL_TYPE, SPARSE_TYPE, VOLUME_TYPE } from './endpoints';

/** An event as it is to be sent. */
export interface OutgoingEvent {
  readonly marker: string;
  readonly type: string;
  readonly group?: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** The publisher's own id for it. */
  readonly id?: string;
  /** When it is to be sent; absent: at once. */
  readonly deliver_at?: string;
}

/** @param options `isOwnId`: whether it is sent under an id of ours, and can so be sent again. */
export function buildEvent(
  type: string,
  marker: string,
  { isOwnId, group }: { readonly isOwnId: boolean; readonly group?: string | undefined },
): OutgoingEvent {
  return {
    marker,
    type,
    data: dataOf(type, marker),
    ...(isOwnId ? { id: marker } : {}),
    ...(group === undefined ? {} : { group }),
  };
}

function dataOf(type: string, marker: string): Readonly<Record<string, unknown>> {
  switch (type) {
    case BULK_TYPE:
      return { keyword: marker, position: 3, volume: 10 };
    case SPARSE_TYPE:
      return { brief_id: marker, title: 'Red shoes' };
    case SEQUENTIAL_TYPE:
      return { import_id: marker, source: 'faults', total_rows: 7, failed_rows: 0 };
    case VOLUME_TYPE:
      return { item: marker, count: 4 };
    default:
      throw new Error(`There are no data for events of the type ${type}.`);
  }
}
