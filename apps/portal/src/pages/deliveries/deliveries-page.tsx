import { useMemo } from 'react';
import { useSearchParams } from 'wouter';
import { PageHeader } from '../../components/page-header';
import { DeliveryTable } from './delivery-table';
import { FilterBar } from './filter-bar';
import { filtersOf, readFilters, writeFilters } from './filters-in-url';
import { IdSearch } from './id-search';

/** All deliveries of the account. What is looked for stands in the address. */
export function DeliveriesPage() {
  const [search, setSearch] = useSearchParams();
  const texts = readFilters(search);
  const address = search.toString();
  const filters = useMemo(() => filtersOf(readFilters(new URLSearchParams(address))), [address]);
  return (
    <>
      <PageHeader title="Deliveries">
        <IdSearch />
      </PageHeader>
      <FilterBar texts={texts} onChange={(changed) => setSearch(writeFilters(changed), { replace: true })} />
      <DeliveryTable
        // What was new for other filters is not for these.
        key={address}
        label="Deliveries"
        filters={filters}
        hint="Nothing was sent yet, or nothing that the filters let through. Events that no webhook asked for make no delivery."
      />
    </>
  );
}
