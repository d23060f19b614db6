import { t } from '@lingui/core/macro';
import { useMemo } from 'react';
import { useSearchParams } from 'wouter';
import { DataSearch } from '../../components/data-search';
import { PageHeader } from '../page-header';
import { AttemptFilter } from './attempt-filter';
import { DeliveryTable } from './delivery-table';
import { FilterBar } from './filter-bar';
import { type FilterTexts, filtersOf, readFilters, writeFilters } from './filters-in-url';

const NONE = t`Nothing was sent yet, or no delivery matches the filters. An event that no webhook subscribes to has no delivery.`;
const NONE_WITH_DATA = t`No event has these data, or no delivery matches the other filters. A value must be equal as a whole, letter by letter. Erased events are not found.`;

/** All deliveries of the account. What is looked for stands in the address. */
export function DeliveriesPage() {
  const [search, setSearch] = useSearchParams();
  const texts = readFilters(search);
  const address = search.toString();
  const filters = useMemo(() => filtersOf(readFilters(new URLSearchParams(address))), [address]);
  const change = (changed: FilterTexts) => setSearch(writeFilters(changed), { replace: true });
  return (
    <>
      <PageHeader title={t`Deliveries`} />
      <DataSearch value={texts.data} onSearch={(data) => change({ ...texts, data })} />
      <FilterBar texts={texts} onChange={change} />
      <AttemptFilter texts={texts} filters={filters} onChange={change} />
      <DeliveryTable
        // New rows of other filters are not those of these.
        key={address}
        label={t`Deliveries`}
        filters={filters}
        hint={filters.data === undefined ? NONE : NONE_WITH_DATA}
      />
    </>
  );
}
