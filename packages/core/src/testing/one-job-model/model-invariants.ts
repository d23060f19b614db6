import type { ModelScene } from './model-scene';
import type { SeenDelivery } from './model-snapshot';

/** The violations in Redis' data, between any two steps. */
export function violationsOf(scene: ModelScene): readonly string[] {
  return [...scene.violations, ...scene.deliveries.flatMap((_, index) => violationsOfDelivery(scene, index))];
}

function violationsOfDelivery(scene: ModelScene, index: number): string[] {
  const { isAcknowledged, putOff } = scene.deliveries[index] ?? {};
  const seen = scene.snapshot.deliveries[index];
  if (!seen) return ['A delivery that was not looked at.'];
  const found: string[] = [];
  const { hasJob, places, isHeld } = seen;
  if (isAcknowledged && !isAtEnd(scene, index, seen) && !hasJob) {
    found.push('An acknowledged delivery without a job.');
  }
  if (places.length !== (hasJob ? 1 : 0))
    found.push(`A job in ${places.length} places: ${places.join(', ')}.`);
  if (places.includes('failed') || places.includes('completed'))
    found.push('A job that ended and is still there.');
  const isPutOffAsHeld = places.includes('delayed') && putOff === 'held';
  if (isPutOffAsHeld && !isHeld) found.push('A held delivery without an entry.');
  if (isPutOffAsHeld && !isFound(scene)) found.push('A held delivery that no sweep finds.');
  return found;
}

// Enabling asks for a wake-up when it is done.
function isFound({ snapshot, isEnabled, enabling, isDeleted }: ModelScene): boolean {
  return snapshot.wakeUpDueAt !== undefined || (!isDeleted && (!isEnabled || enabling !== undefined));
}

/** If both the event and the endpoint are gone, nobody can read the record, and none exists. */
export function isAtEnd(scene: ModelScene, index: number, { isOpen }: SeenDelivery): boolean {
  return !isOpen || (scene.isDeleted && scene.deliveries[index]?.isExpired === true);
}

/** A state, by the facts that the protocol depends on. */
export function keyOf({
  snapshot,
  deliveries,
  runs,
  looks,
  dead,
  isEnabled,
  enabling,
  isDeleted,
  movers,
}: ModelScene): string {
  const ofDeliveries = deliveries.map(
    ({ publish, isAdded, isAcknowledged, isExpired, putOff, resend, isResent }, index) => {
      const { places = [], isHeld, isOpen, hasMoved, lock, nextAttemptAt } = snapshot.deliveries[index] ?? {};
      const ofRuns = runs
        .filter(({ of }) => of === index)
        .map(({ work, hasLostLock }) => `${work.at} ${hasLostLock}`);
      const flags = [
        publish?.at,
        isAdded,
        isAcknowledged,
        isExpired,
        isHeld,
        isOpen,
        hasMoved,
        resend?.at,
        isResent,
        lock !== '',
        nextAttemptAt !== undefined,
      ];
      return [...places, places.includes('delayed') ? putOff : '', ...flags, ...ofRuns.toSorted()].join();
    },
  );
  const ofLooks = looks.map(({ at }) => at).toSorted();
  const rest = [
    snapshot.wakeUpDueAt !== undefined,
    dead.length,
    ...movers.map(({ at }) => at).toSorted(),
    isEnabled,
    enabling !== undefined,
    isDeleted,
  ];
  return [...ofDeliveries.toSorted(), ...ofLooks, ...rest].join(';');
}
