import type { Endpoint } from '../../domain/endpoint';
import type { Verification } from '../../domain/verification';
import { buildEndpoint } from '../../testing/build-endpoint';
import { afterTry, type VerificationDemand, withAnotherTry, withVerification } from './verify';

const NOW = 1_700_000_000_000;
const REQUIRED: VerificationDemand = { method: undefined, isRequired: true };
const OFF: VerificationDemand = { method: undefined, isRequired: false };
const FAILED = { kind: 'failed', error: 'response_timeout' } as const;
const VERIFIED = { kind: 'verified' } as const;

const begun: Verification = { method: 'challenge', status: 'unverified', round: 1, tries: 0, nextTryAt: NOW };
const verified: Verification = {
  method: 'challenge',
  status: 'verified',
  round: 1,
  tries: 1,
  verifiedAt: NOW,
};
const endpointWith = (verification: Verification, change: Partial<Endpoint> = {}) =>
  buildEndpoint({ verification, ...change });

describe('what a change demands', () => {
  it('is a proof of a new endpoint where that is required, and none where not', () => {
    const endpoint = buildEndpoint();
    expect(withVerification(undefined, endpoint, REQUIRED, NOW).verification).toEqual(begun);
    expect(withVerification(undefined, endpoint, OFF, NOW).verification).toBeUndefined();
  });

  it('is a new proof for another URL or secret, also while none is required', () => {
    const before = endpointWith(verified);
    const other = { ...before, url: 'https://other.example.com/' };
    const rotated = { ...before, secrets: buildEndpoint().secrets };
    for (const after of [other, rotated]) {
      expect(withVerification(before, after, OFF, NOW).verification).toEqual({ ...begun, round: 2 });
    }
  });

  it('is a new proof for another URL of access tokens, which gets requests too, and none without one', () => {
    const auth = { type: 'oauth2', changedAt: NOW, clientId: 'c', clientSecret: 's' } as const;
    const mine = endpointWith(verified, { auth: { ...auth, tokenUrl: 'https://login.example.com/' } });
    const other = { ...mine, auth: { ...auth, tokenUrl: 'https://victim.example.com/' } };
    const { auth: _auth, ...bare } = mine;
    for (const before of [mine, bare]) {
      expect(withVerification(before, other, OFF, NOW).verification).toEqual({ ...begun, round: 2 });
    }
    const rotated = { ...mine, auth: { ...mine.auth, clientSecret: 'new' } } as Endpoint;
    for (const after of [bare, rotated]) expect(withVerification(mine, after, OFF, NOW)).toEqual(after);
  });

  it('is nothing for any other change', () => {
    const before = endpointWith(verified);
    const after: Endpoint = { ...before, events: ['brief.created'] };
    expect(withVerification(before, after, REQUIRED, NOW)).toEqual(after);
  });

  it('is a new proof by another method', () => {
    const before = endpointWith(verified);
    const demand = { method: 'cloudevents', isRequired: false } as const;
    expect(withVerification(before, before, demand, NOW).verification).toMatchObject({
      method: 'cloudevents',
      status: 'unverified',
      round: 2,
    });
  });

  it('keeps the rate limit within what the receiver permitted', () => {
    const before = endpointWith({ ...verified, allowedRate: 150 });
    const rateAfter = (change: Partial<Endpoint>) =>
      withVerification(before, { ...before, ...change }, OFF, NOW).rateLimit;
    expect([rateAfter({}), rateAfter({ rateLimit: 9 }), rateAfter({ rateLimit: 1 })]).toEqual([2, 2, 1]);
  });
});

describe('an endpoint after a try', () => {
  it('is tried again after a minute, then after ten, then no more', () => {
    let current = endpointWith(begun);
    const seen = [];
    for (let time = 0; time < 3; time++) {
      const { verification = begun } = current;
      current = afterTry(current, verification, FAILED, NOW) ?? current;
      seen.push([current.verification?.status, current.verification?.nextTryAt]);
    }
    expect(seen).toEqual([
      ['pending', NOW + 60_000],
      ['pending', NOW + 600_000],
      ['failed', undefined],
    ]);
    expect(current.verification?.error).toBe('response_timeout');
  });

  it('is verified, at no more than the rate that was permitted', () => {
    const after = afterTry(endpointWith(begun), begun, { ...VERIFIED, allowedRate: 60 }, NOW);
    expect(after).toMatchObject({ rateLimit: 1, verification: { status: 'verified', verifiedAt: NOW } });
  });

  it('is what it was when what is to be proved has changed meanwhile, or the try was counted already', () => {
    const changed = endpointWith({ ...begun, round: 2 });
    const counted = endpointWith({ ...begun, status: 'pending', tries: 1 });
    expect(afterTry(changed, begun, VERIFIED, NOW)).toBeUndefined();
    expect(afterTry(counted, begun, VERIFIED, NOW)).toBeUndefined();
    expect(afterTry(endpointWith(verified), begun, FAILED, NOW)).toBeUndefined();
  });
});

describe('another try', () => {
  it('is due now, and is the last one by itself', () => {
    const asked = withAnotherTry(endpointWith(begun), NOW);
    const { verification = begun } = asked;
    expect(verification).toMatchObject({ status: 'pending', nextTryAt: NOW });
    expect(afterTry(asked, verification, FAILED, NOW)?.verification?.status).toBe('failed');
  });

  it('is refused for one that is verified, was never asked, or is disabled', () => {
    const disabled = endpointWith(begun, { status: 'disabled', disabledReason: 'client' });
    for (const endpoint of [endpointWith(verified), buildEndpoint(), disabled]) {
      expect(() => withAnotherTry(endpoint, NOW)).toThrow(expect.objectContaining({ code: 'conflict' }));
    }
  });
});
