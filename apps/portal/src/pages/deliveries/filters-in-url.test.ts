import { filtersOf, readFilters, writeFilters } from './filters-in-url';

const filtersIn = (search: string) => filtersOf(readFilters(new URLSearchParams(search)));

describe('the filters in an address', () => {
  it('come back as they were written, without those that are not set', () => {
    const search = new URLSearchParams('status=held&http=503&webhook=wh_1&data=%7B%22a%22%3A1.0%7D');
    expect(writeFilters(readFilters(search)).toString()).toBe(search.toString());
  });

  it('are what the list is asked for', () => {
    expect(
      filtersIn(
        'status=held&http=503&outcome=http_5xx&type=brief.created&webhook=wh_1&data=%7B%22a%22%3A1.0%7D&range=24',
      ),
    ).toEqual({
      status: 'held',
      response_status: 503,
      outcome: 'http_5xx',
      event_type: 'brief.created',
      webhook_id: 'wh_1',
      data: '{"a":1.0}',
      last_hours: 24,
    });
  });

  it('keep times in UTC', () => {
    const search = 'range=custom&since=2030-01-31T12%3A00%3A00.000Z&until=2030-02-01T12%3A00%3A00.000Z';
    expect(writeFilters(readFilters(new URLSearchParams(search))).toString()).toBe(search);
    expect(filtersIn(search)).toEqual({
      since: '2030-01-31T12:00:00.000Z',
      until: '2030-02-01T12:00:00.000Z',
    });
  });

  it('find any attempt of a time, with the outcomes of a chart', () => {
    const since = 'attempted_since=2030-01-31T12%3A00%3A00.000Z';
    const search = `attempt=http_5xx%2Cdns_error&${since}&attempted_until=2030-01-31T13%3A00%3A00.000Z`;
    expect(writeFilters(readFilters(new URLSearchParams(search))).toString()).toBe(search);
    expect(filtersIn(search)).toEqual({
      attempt_outcome: 'http_5xx,dns_error',
      attempted_since: '2030-01-31T12:00:00.000Z',
      attempted_until: '2030-01-31T13:00:00.000Z',
    });
    expect(filtersIn('attempt=failed')).toEqual({ attempt_outcome: 'failed' });
  });

  it('take times without a zone as the viewer’s, and keep them in UTC from then on', () => {
    const since = new Date(2030, 0, 31, 12).toISOString();
    const search = new URLSearchParams('range=custom&since=2030-01-31T12:00&until=');
    expect(filtersOf(readFilters(search))).toEqual({ since });
    expect(writeFilters(readFilters(search)).get('since')).toBe(since);
  });

  it.each([
    'status=lost',
    'http=9',
    'http=6000',
    'outcome=toString',
    'range=-1',
    'range=custom&since=never',
    'data={a}',
    'data=[]',
    'attempt=late',
    'attempt=failed,toString',
    'attempted_since=never',
  ])('mean nothing where they are none: %s', (search) => {
    expect(filtersIn(search)).toEqual({});
  });
});
