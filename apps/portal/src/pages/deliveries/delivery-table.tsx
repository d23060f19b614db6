import { plural, t } from '@lingui/core/macro';
import { type InfiniteData, useQueryClient } from '@tanstack/react-query';
import { useCallback, useMemo } from 'react';
import { type Delivery, type DeliveryFilters, useDeliveries } from '../../api/delivery-queries';
import { queryKeys } from '../../api/query-keys';
import { isCutShort } from '../../api/use-pages';
import { Button } from '../../components/button';
import { DataTable } from '../../components/data-table';
import { Empty } from '../../components/empty';
import { HistoryEnd } from '../../components/history-end';
import { Problem } from '../../components/problem';
import { ReadOn } from '../../components/read-on';
import { deliveryColumns } from './delivery-columns';
import styles from './delivery-table.module.css';
import { MOST_COUNTED, useNewDeliveries } from './use-new-deliveries';
import { useWebhookNames } from './use-webhook-names';

export interface DeliveryTableProps {
  readonly label: string;
  readonly filters: DeliveryFilters;
  /** Shown if there are none. */
  readonly hint: string;
  /** How many there will be, as far as it is known before they are. */
  readonly expected?: number | undefined;
}

/** Deliveries as they are now. Changes are made in place; new ones wait until they are asked for. */
export function DeliveryTable({ label, filters, hint, expected }: DeliveryTableProps) {
  const queries = useQueryClient();
  const list = useDeliveries(filters);
  const { data, error, refetch, fetchNextPage, hasNextPage, isFetching, isFetchingNextPage } = list;
  const isCut = isCutShort(data);
  const rows = useMemo(() => data?.pages.flatMap((page) => page.data), [data]);
  const names = useWebhookNames(filters.webhook_id === undefined);
  const columns = useMemo(() => deliveryColumns(filters, names), [filters, names]);
  const news = useNewDeliveries(filters, rows);

  const showNew = () => {
    news.forget();
    // Pages further down follow when somebody goes there again.
    queries.setQueryData(queryKeys.deliveries(filters), firstPage);
    window.scrollTo(0, 0);
    void refetch();
  };
  const readOn = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);

  if (error && !rows) return <Problem error={error} onRetry={() => void refetch()} />;
  return (
    <div>
      <div className={styles['news']} aria-live="polite">
        {news.count > 0 && (
          <Button size="small" kind="primary" onClick={showNew}>
            {newText(news.count)}
          </Button>
        )}
      </div>
      <DataTable
        label={label}
        columns={columns}
        rows={rows}
        expected={expected}
        rowId={idOf}
        hrefOf={({ id }) => `/deliveries/${encodeURIComponent(id)}`}
        {...(!isCut && { onEnd: readOn })}
      />
      {rows?.length === 0 && !hasNextPage && (
        <Empty title={t`No deliveries`}>
          <p>{hint}</p>
        </Empty>
      )}
      {hasNextPage && !error && !isCut && (
        <ReadOn
          isBusy={isFetchingNextPage}
          onReadOn={readOn}
          searchedTo={data?.pages.at(-1)?.oldest_searched_at}
        />
      )}
      {(isCut || error) && (
        <HistoryEnd isBusy={isFetching} onRetry={hasNextPage ? readOn : () => void refetch()} />
      )}
    </div>
  );
}

function newText(count: number): string {
  if (count >= MOST_COUNTED) return t`${MOST_COUNTED}+ new`;
  return plural(count, { one: '# new', other: '# new' });
}

const idOf = ({ id }: Delivery) => id;

function firstPage<Data, Param>(data: InfiniteData<Data, Param> | undefined) {
  return data && { pages: data.pages.slice(0, 1), pageParams: data.pageParams.slice(0, 1) };
}
