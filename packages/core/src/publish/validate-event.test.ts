import { operationalTypes, publishableTypes } from '../accounts/event-types/built-in';
import type { EventTypeStore } from '../accounts/event-types/redis-event-type-store';
import { fake } from '../testing/fake';
import { fakePublishingParts } from '../testing/fake-publishing-parts';
import type { PublishingParts } from './publishing-parts';
import { type UncheckedEvent, validateEvent as validateBy } from './validate-event';

describe('validate event', () => {
  const parts = fakePublishingParts();

  const validateUnchecked = ({ eventTypeStore, maxEventBytes }: PublishingParts, event: UncheckedEvent) =>
    validateBy(eventTypeStore, maxEventBytes, event);

  const examples: Readonly<Record<string, object>> = Object.fromEntries(
    publishableTypes.map(({ name, example }) => [name, example]),
  );

  /** As if it came in as JSON.stringify writes it. */
  function validateEvent(
    event: Omit<UncheckedEvent, 'dataText'>,
    by: PublishingParts = parts,
  ): Promise<string> {
    return validateUnchecked(by, { ...event, dataText: JSON.stringify(event.data) ?? '' });
  }

  function rejectionOf(validation: Promise<string>): Promise<unknown> {
    return validation.then(
      (body) => body,
      (error: unknown) => error,
    );
  }

  async function errorPointers(type: string, data: unknown): Promise<string[]> {
    const error = await rejectionOf(validateEvent({ type, data }));
    expect(error).toMatchObject({ name: 'AppError', code: 'invalid_request' });
    return (error as { validationErrors: { pointer: string }[] }).validationErrors.map(
      ({ pointer }) => pointer,
    );
  }

  describe('validateEvent', () => {
    it.each(publishableTypes.map(({ name, example }) => [name, example] as const))(
      'gives the body of a %s: type and data, in this order, as they came',
      async (type, data) => {
        expect(await validateEvent({ type, data })).toBe(`{"type":"${type}","data":${JSON.stringify(data)}}`);
      },
    );

    it.each([
      ['keyword.quick_win', { keyword: '' }, ['/data/keyword']],
      ['keyword.quick_win', { keyword: 'k'.repeat(1_001) }, ['/data/keyword']],
      ['keyword.quick_win', { keyword: undefined }, ['/data/keyword']],
      ['keyword.quick_win', { keyword: null }, ['/data/keyword']],
      ['keyword.quick_win', { position: 0 }, ['/data/position']],
      ['keyword.quick_win', { position: 1.5 }, ['/data/position']],
      ['keyword.quick_win', { position: '11' }, ['/data/position']],
      ['keyword.quick_win', { volume: -1 }, ['/data/volume']],
      ['keyword.quick_win', { colour: 'red' }, ['/data/colour']],
      ['keyword.quick_win', { 'a/b~c': 1 }, ['/data/a~1b~0c']],
      ['keyword.quick_win', { position: 0, volume: -1 }, ['/data/position', '/data/volume']],
      ['brief.created', { brief_id: '' }, ['/data/brief_id']],
      ['brief.created', { brief_id: 'b'.repeat(201) }, ['/data/brief_id']],
      ['brief.created', { title: '' }, ['/data/title']],
      ['brief.created', { title: 't'.repeat(1_001) }, ['/data/title']],
      ['brief.created', { keyword: '' }, ['/data/keyword']],
      ['brief.created', { keyword: 'k'.repeat(1_001) }, ['/data/keyword']],
      ['brief.created', { url: 'not a url' }, ['/data/url']],
      ['brief.created', { url: `https://example.com/${'p'.repeat(2_048)}` }, ['/data/url']],
      ['brief.created', { colour: 'red' }, ['/data/colour']],
      ['import.completed', { import_id: '' }, ['/data/import_id']],
      ['import.completed', { import_id: 'i'.repeat(201) }, ['/data/import_id']],
      ['import.completed', { source: '' }, ['/data/source']],
      ['import.completed', { source: 's'.repeat(201) }, ['/data/source']],
      ['import.completed', { total_rows: -1 }, ['/data/total_rows']],
      ['import.completed', { failed_rows: 0.5 }, ['/data/failed_rows']],
      ['import.completed', { colour: 'red' }, ['/data/colour']],
    ])('refuses a %s with %j, and points there', async (type, change, pointers) => {
      expect(await errorPointers(type, { ...examples[type], ...change })).toEqual(pointers);
    });

    it.each([undefined, null, 'text', 1, []])('refuses %j in the place of data', async (data) => {
      expect(await errorPointers('keyword.quick_win', data)).toEqual(['/data']);
    });

    it('takes a brief without its optional members', async () => {
      const data = { brief_id: 'brf_1', title: 'Shoes' };
      expect(JSON.parse(await validateEvent({ type: 'brief.created', data }))).toEqual({
        type: 'brief.created',
        data,
      });
    });

    it.each([
      ...['keyword.lost', 'keyword', '', 'constructor', '__proto__'].map((type) => [type, ''] as const),
      ['Keyword.quick_win', ' (did you mean "keyword.quick_win"?)'],
      ['breif.created', ' (did you mean "brief.created"?)'],
    ] as const)('refuses the unknown type "%s" and lists the known ones%s', async (type, hint) => {
      expect(await rejectionOf(validateEvent({ type, data: {} }))).toMatchObject({
        code: 'invalid_request',
        validationErrors: [
          {
            pointer: '/type',
            detail: `"${type}" is not a known event type${hint}; you can publish ${publishableTypes.map(({ name }) => name).join(', ')}`,
          },
        ],
      });
    });

    it.each(operationalTypes.map(({ name, example }) => [name, example] as const))(
      'refuses a %s: only this service raises it',
      async (type, data) => {
        expect(await rejectionOf(validateEvent({ type, data }))).toMatchObject({
          code: 'invalid_request',
          validationErrors: [
            { pointer: '/type', detail: expect.stringContaining('is an operational event type') },
          ],
        });
      },
    );

    it.each([
      '{"keyword":"k","position":9007199254740993,"volume":0}',
      '{"keyword":"k","position":1.0,"volume":-0}',
      '{ "volume": 1e3,\n"keyword"\t:"\\u006b\\/","position":1E+300 }',
      '{"keyword":"first","keyword":"second","position":1,"volume":0}',
    ])('gives data as it was written, byte for byte: %s', async (dataText) => {
      const event = { type: 'keyword.quick_win', data: JSON.parse(dataText) as unknown, dataText };
      expect(await validateUnchecked(parts, event)).toBe(`{"type":"keyword.quick_win","data":${dataText}}`);
    });

    it('refuses a number beyond what any number can be', async () => {
      expect(
        await errorPointers('keyword.quick_win', { keyword: 'k', position: 1, volume: JSON.parse('1e400') }),
      ).toEqual(['/data/volume']);
    });

    it('refuses __proto__ and constructor in data as it does any unknown member', async () => {
      const dataText = '{"__proto__":{"keyword":"k"},"constructor":{},"position":1,"volume":0}';
      expect(await errorPointers('keyword.quick_win', JSON.parse(dataText))).toEqual([
        '/data/keyword',
        '/data/__proto__',
        '/data/constructor',
      ]);
    });

    it.each([101, 100_000])('refuses data of %d levels', async (depth) => {
      const dataText = '['.repeat(depth) + ']'.repeat(depth);
      const event = { type: 'keyword.quick_win', data: JSON.parse(dataText) as unknown, dataText };
      expect(await rejectionOf(validateUnchecked(parts, event))).toMatchObject({
        code: 'invalid_request',
        validationErrors: [{ pointer: '/data', detail: 'is more than 100 levels deep' }],
      });
    });

    it('takes a body of exactly the limit, counted in bytes of UTF-8, and none of a byte more', async () => {
      const event = { type: 'keyword.quick_win', data: { keyword: 'Zoë 🚀', position: 1, volume: 0 } };
      const bytes = Buffer.byteLength(JSON.stringify(event));
      const limitedTo = (maxBytes: number) =>
        validateEvent(event, fakePublishingParts({ maxEventBytes: maxBytes }));
      expect(await limitedTo(bytes)).toHaveLength(bytes - 3);
      expect(await rejectionOf(limitedTo(bytes - 1))).toMatchObject({
        code: 'payload_too_large',
        message: `The event has ${bytes} bytes; at most ${bytes - 1} are accepted.`,
      });
    });

    describe('of a type that an operator has added', () => {
      const schema = {
        type: 'object',
        properties: { amount: { type: 'number' } },
        required: ['amount'],
        additionalProperties: false,
      };
      const withInvoices = fakePublishingParts({ eventTypes: [{ name: 'invoice.paid', schema }] });
      const of = (data: unknown) => validateEvent({ type: 'invoice.paid', data }, withInvoices);

      it('keeps data as they were written, byte for byte', async () => {
        const dataText = '{ "amount" : 10.00,\n"amount":9007199254740993 }';
        const event = { type: 'invoice.paid', data: JSON.parse(dataText) as unknown, dataText };
        expect(await validateUnchecked(withInvoices, event)).toBe(
          `{"type":"invoice.paid","data":${dataText}}`,
        );
      });

      it.each([
        [undefined, '/data'],
        [null, '/data'],
        [{}, '/data/amount'],
        [{ amount: 'ten' }, '/data/amount'],
        [{ amount: JSON.parse('1e400') }, '/data/amount'],
        [{ amount: 1, colour: 'red' }, '/data/colour'],
      ])('refuses %j, and points there', async (data, pointer) => {
        expect(await rejectionOf(of(data))).toMatchObject({
          code: 'invalid_request',
          validationErrors: [{ pointer }],
        });
      });

      it('refuses data that are missing or too deep, even if the schema takes anything', async () => {
        const anything = fakePublishingParts({ eventTypes: [{ name: 'any.thing', schema: true }] });
        for (const data of [undefined, JSON.parse('['.repeat(101) + ']'.repeat(101))]) {
          const validation = validateEvent({ type: 'any.thing', data }, anything);
          expect(await rejectionOf(validation)).toMatchObject({ validationErrors: [{ pointer: '/data' }] });
        }
      });

      it('is named among the known ones when another one is published', async () => {
        const validation = validateEvent({ type: 'invoice.lost', data: {} }, withInvoices);
        expect(await rejectionOf(validation)).toMatchObject({
          validationErrors: [{ detail: expect.stringMatching(/you can publish invoice\.paid, keyword/) }],
        });
      });

      it.each([
        [['invoice.*'], 'you can publish invoice.paid'],
        [['order.*'], 'there is none that you can publish'],
      ])('is named to a key for %j only if it may publish it', async (allowed, advice) => {
        const event = { type: 'parcel.unheard', data: {}, dataText: '{}' };
        const { eventTypeStore, maxEventBytes } = withInvoices;
        const detail = `"parcel.unheard" is not a known event type; ${advice}`;
        expect(await rejectionOf(validateBy(eventTypeStore, maxEventBytes, event, allowed))).toMatchObject({
          validationErrors: [{ detail }],
        });
      });
    });

    it('looks nobody up for a type that is built in, or that can be none', async () => {
      const names: string[] = [];
      const recording = {
        ...parts,
        eventTypeStore: fake<EventTypeStore>({
          publishable: publishableTypes,
          find: async (name: string) => void names.push(name),
          names: async () => [],
        }),
      };
      for (const type of ['keyword.quick_win', 'webhook.disabled', 'x'.repeat(1_000), 'no.such']) {
        await rejectionOf(validateEvent({ type, data: examples[type] }, recording));
      }
      expect(names).toEqual(['no.such']);
    });
  });
});
