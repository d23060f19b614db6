import { createEventPublisher, type PublisherOptions } from './event-publisher';

it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 86_400_001, '5000', null])(
  'refuses patience of %p when the publisher is made',
  (patienceMs) => {
    const options = { redisUrl: 'redis://127.0.0.1:1', patienceMs } as PublisherOptions;
    expect(() => createEventPublisher(options)).toThrow(
      new TypeError(
        'createEventPublisher: patienceMs must be a whole number of milliseconds from 1 to 86400000.',
      ),
    );
  },
);

it.each([-1, 1.5, 11, '1', null])('refuses %p replicas when the publisher is made', (confirmedBy) => {
  const options = { redisUrl: 'redis://127.0.0.1:1', confirmedBy } as PublisherOptions;
  expect(() => createEventPublisher(options)).toThrow(
    new TypeError('createEventPublisher: confirmedBy must be a whole number of replicas from 0 to 10.'),
  );
});

it.each([[{}], [{ redisUrl: undefined }], [{ connection: undefined }], [{ connection: null }]])(
  'takes no Redis of its own choice for %j',
  (options) => {
    expect(() => createEventPublisher(options as unknown as PublisherOptions)).toThrow(
      expect.objectContaining({
        name: 'TypeError',
        message: expect.stringContaining('pass redisUrl or connection') as string,
      }),
    );
  },
);

it('takes the defaults of ioredis where they are asked for', async () => {
  const publisher = createEventPublisher({ connection: {} });
  await expect(publisher.close()).resolves.toBeUndefined();
});
