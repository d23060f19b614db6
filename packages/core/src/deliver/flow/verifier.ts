import type { Emit } from '../../domain/signal';
import type { ClaimedTry, VerificationStore } from '../../endpoints/verification/redis-verification-store';
import { ClaimedWork } from '../../platform/claimed-work';
import type { Clock } from '../../platform/clock';
import { type VerifyEndpointContext, verifyEndpoint } from '../verify-endpoint';

export interface VerifierContext extends VerifyEndpointContext {
  readonly verificationStore: Pick<VerificationStore, 'claimDue' | 'end' | 'takeTry'>;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** The most verifications that one process makes at the same time. They use no slots of deliveries, and none is urgent. */
const AT_ONCE = 16;

/** Verifies the endpoints that are due. */
export class Verifier extends ClaimedWork<ClaimedTry> {
  constructor(private readonly context: VerifierContext) {
    super(AT_ONCE);
  }

  protected async claim(most: number, patienceMs: number): Promise<readonly ClaimedTry[]> {
    const { verificationStore, clock } = this.context;
    return await verificationStore.claimDue(clock(), most, patienceMs);
  }

  protected async work(claimed: ClaimedTry): Promise<void> {
    const { verificationStore, clock } = this.context;
    const nextAt = await verifyEndpoint(this.context, claimed, claimed.claimedUntil, this.stopSignal);
    await verificationStore.end(claimed, nextAt, clock());
  }

  protected onFailure(error: unknown): void {
    this.context.emit({ name: 'task.failed', task: 'verify webhooks', error });
  }
}
