import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { prepareRequest, signBody } from '../deliver/prepare-request';
import { type Endpoint, liveSecrets, newestSecret } from '../domain/endpoint';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent } from '../testing/build-event';
import { newSecret, rotateSecret, secretRotationSchema, secretSchema } from './rotate-secret';

describe('rotate secret', () => {
  const NOW = 1_700_000_100_000;
  const HOUR = 3_600_000;

  afterEach(() => jest.restoreAllMocks());

  const event = buildEvent();
  const requestAt = (endpoint: Endpoint, now: number) =>
    prepareRequest(
      { endpoint, event, content: { body: event.body, headers: {} }, attempt: 1, isTest: false, now },
      { userAgent: 'hooks', signatureHeader: { name: 'X-Service-Signature', prefix: 'sha256=' } },
    );

  /** Whether a receiver that has only this secret takes a request that is sent at this time. */
  function verifies(secret: string, endpoint: Endpoint, now: number): boolean {
    jest.spyOn(Date, 'now').mockReturnValue(now);
    const { body, headers } = requestAt(endpoint, now);
    try {
      new Webhook(secret).verify(body, headers);
      return true;
    } catch {
      return false;
    }
  }

  let rotations = 0;
  function rotationOf(overlapMs: number, secret = newSecret()) {
    return { secret, overlapMs, rotation: `rot_${(rotations += 1)}` };
  }

  /**
   * Rotates as often as there are overlaps, all at the same time; gives the endpoint and its secrets, newest
   * first.
   */
  function rotated(overlapsMs: readonly number[], endpoint = buildEndpoint()): Endpoint {
    return overlapsMs.reduce(
      (before, overlapMs) => rotateSecret(before, rotationOf(overlapMs), NOW),
      endpoint,
    );
  }

  describe('rotateSecret', () => {
    it('has receivers with either secret verify until the overlap ends, and then only those with the new one', () => {
      const before = buildEndpoint();
      const after = rotated([HOUR], before);
      const [fresh, former] = [newestSecret(after).secret, newestSecret(before).secret];
      const verdicts = [NOW, NOW + HOUR - 1, NOW + HOUR].map((at) => [
        verifies(fresh, after, at),
        verifies(former, after, at),
      ]);
      expect(verdicts).toEqual([
        [true, true],
        [true, true],
        [true, false],
      ]);
    });

    it('signs the newest first, and the header that has room for one with the newest alone', () => {
      const after = rotated([HOUR]);
      const [fresh] = after.secrets;
      const { headers, body } = requestAt(after, NOW);
      const alone = requestAt({ ...after, secrets: fresh ? [fresh] : [] }, NOW).headers['webhook-signature'];
      expect(headers['webhook-signature']?.split(' ')).toEqual([alone, expect.stringMatching(/^v1,/)]);
      expect(headers['x-service-signature']).toBe(signBody(fresh?.secret ?? '', body));
    });

    it('leaves the new one alone at once when there is no overlap, whatever was to sign for longer', () => {
      expect(rotated([7 * HOUR, 0]).secrets).toMatchObject([{ createdAt: NOW }]);
    });

    it('lets none of the older ones sign for longer than before', () => {
      const { secrets } = rotated([HOUR, 2 * HOUR]);
      expect(secrets.map(({ expiresAt }) => expiresAt)).toEqual([undefined, NOW + 2 * HOUR, NOW + HOUR]);
    });

    it('forgets secrets that no longer sign', () => {
      const once = rotated([HOUR]);
      const again = rotateSecret(once, rotationOf(HOUR), NOW + HOUR);
      expect(again.secrets).toHaveLength(2);
    });

    it('tells when it was', () => {
      expect(rotated([HOUR])).toMatchObject({ updatedAt: NOW, secrets: [{ createdAt: NOW }, {}] });
    });

    it('changes nothing when it is repeated, be the secret the same or another', () => {
      const rotation = rotationOf(HOUR);
      const once = rotateSecret(buildEndpoint(), rotation, NOW);
      for (const secret of [rotation.secret, newSecret()]) {
        expect(rotateSecret(once, { ...rotation, secret }, NOW + 1)).toEqual(once);
      }
    });

    it('refuses a secret that signs already, and takes one that no longer does', () => {
      const endpoint = rotated([HOUR]);
      for (const { secret } of endpoint.secrets) {
        expect(() => rotateSecret(endpoint, rotationOf(HOUR, secret), NOW)).toThrow(
          expect.objectContaining({
            code: 'invalid_request',
            validationErrors: [expect.objectContaining({ pointer: '/secret' })],
          }),
        );
      }
      const former = endpoint.secrets[1]?.secret ?? '';
      const back = rotateSecret(endpoint, rotationOf(HOUR, former), NOW + HOUR);
      expect(newestSecret(back).secret).toBe(former);
    });

    it('takes no sixth secret, says when there is room again, and makes room without an overlap', () => {
      const full = rotated([HOUR, 2 * HOUR, 3 * HOUR, 4 * HOUR]);
      expect(liveSecrets(full, NOW)).toHaveLength(5);
      expect(() => rotated([5 * HOUR], full)).toThrow(
        expect.objectContaining({
          code: 'conflict',
          message: expect.stringContaining(new Date(NOW + HOUR).toISOString()),
        }),
      );
      expect(rotated([0], full).secrets).toHaveLength(1);
      expect(rotateSecret(full, rotationOf(HOUR), NOW + HOUR).secrets).toHaveLength(5);
    });
  });

  describe('secretRotationSchema', () => {
    it('has an overlap of a day unless another one is said', () => {
      expect(secretRotationSchema.parse({})).toEqual({ overlapMs: 86_400_000 });
      expect(secretRotationSchema.parse({ overlap_seconds: 0 })).toEqual({ overlapMs: 0 });
      expect(secretRotationSchema.parse({ overlap_seconds: 604_800 })).toEqual({ overlapMs: 604_800_000 });
    });

    it.each([
      { overlap_seconds: -1 },
      { overlap_seconds: 604_801 },
      { overlap_seconds: 0.5 },
      { overlap_seconds: '60' },
      { overlap_seconds: null },
      { secret: 'whsec_short' },
    ])('refuses %j', (input) => {
      expect(secretRotationSchema.safeParse(input).success).toBe(false);
    });
  });
});

describe('secret', () => {
  function secretOf(bytes: number, encoding: BufferEncoding = 'base64'): string {
    return `whsec_${Buffer.alloc(bytes, 0xfb).toString(encoding)}`;
  }

  describe('newSecret', () => {
    it('is whsec_ and the base64 of 32 bytes, and another one each time', () => {
      const secret = newSecret();
      expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
      expect(newSecret()).not.toBe(secret);
      expect(secretSchema.parse(secret)).toBe(secret);
    });
  });

  describe('secretSchema', () => {
    it.each([24, 32, 63, 64])('takes %d bytes', (bytes) => {
      expect(secretSchema.parse(secretOf(bytes))).toBe(secretOf(bytes));
    });

    it.each([
      ['23 bytes', secretOf(23)],
      ['65 bytes', secretOf(65)],
      ['no prefix', secretOf(32).slice(6)],
      ['another prefix', secretOf(32).replace('whsec_', 'whpub_')],
      ['the URL alphabet of base64', secretOf(32, 'base64url')],
      ['no padding', secretOf(32).replace('=', '')],
      ['white space within', secretOf(32).replace('whsec_', 'whsec_ ')],
      ['a line feed at the end', `${secretOf(32)}\n`],
      ['nothing after the prefix', 'whsec_'],
      ['nothing', ''],
      ['a number', 1],
    ])('refuses %s', (_what, secret) => {
      expect(secretSchema.safeParse(secret).success).toBe(false);
    });

    it('takes whatever an encoder makes of 24 to 64 bytes, and of no other number', () => {
      const taken = Array.from({ length: 90 }, (_, bytes) => bytes).filter((bytes) => {
        const secrets = Array.from({ length: 50 }, () => `whsec_${randomBytes(bytes).toString('base64')}`);
        const oks = new Set(secrets.map((secret) => secretSchema.safeParse(secret).success));
        expect(oks.size).toBe(1);
        return oks.has(true);
      });
      expect(taken).toEqual(Array.from({ length: 41 }, (_, i) => 24 + i));
    });

    it('does not repeat a secret that it refuses', () => {
      expect(JSON.stringify(secretSchema.safeParse('whsec_mine').error)).not.toContain('mine');
    });
  });
});
