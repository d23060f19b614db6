import { explore, type Protocol, STUCK } from './explore';

interface Counters {
  readonly mine: number;
  readonly shared: number;
}

/** Two counters up to 2 that never fall, and a rest that only the second can reach. */
const counting: Protocol<Counters> = {
  initial: { mine: 0, shared: 0 },
  *stepsFrom(state) {
    if (state.mine < 2) yield { name: 'mine', isOrdinary: true, next: { ...state, mine: state.mine + 1 } };
    if (state.shared < 2) {
      yield { name: 'shared', isOrdinary: state.mine < 2, next: { ...state, shared: state.shared + 1 } };
    }
  },
  keyOf: ({ mine, shared }) => `${mine},${shared}`,
  forbidden: {
    'a counter falls': ({ before, after }) => after.mine < before.mine,
    'both are 2': ({ after }) => after.mine === 2 && after.shared === 2,
  },
  possible: { 'both are above zero': ({ after }) => after.mine > 0 && after.shared > 0 },
  isAtRest: ({ shared }) => shared === 2,
};

describe('explore', () => {
  it('visits every state once, and takes every step', () => {
    expect(explore(counting)).toMatchObject({ states: 9, steps: 12 });
  });

  it('gives the shortest way to what it has seen, and how many steps show it', () => {
    const { sightings } = explore(counting);
    expect(sightings.get('both are above zero')?.trace).toEqual(['mine', 'shared']);
    // To each of the four such states, from those that are one step before.
    expect(sightings.get('both are above zero')?.count).toBe(8);
    expect(sightings.has('a counter falls')).toBe(false);
  });

  it('gives what was seen that must not be, and the way to it', () => {
    expect(explore(counting).violations).toEqual({
      'both are 2': ['mine', 'mine', 'shared', 'shared'],
      [STUCK]: ['mine', 'mine'],
    });
  });

  it('tells of a state that ordinary steps lead from to no rest', () => {
    expect(explore(counting).sightings.get(STUCK)).toEqual({ count: 2, trace: ['mine', 'mine'] });
  });
});
