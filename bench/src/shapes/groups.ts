/** A webhook that gets the events of each of many groups in their order, beside one that has no order. */
import { drainService } from '../drain/index';
import { compareFigures, inTurns } from '../path/compare';
import { drainFiguresOf, drainInShort, roundsOf, type Scene, WARM_UP_SHARE } from './scene';

const GROUPS = 10_000;
const SHORT_GROUPS = 300;
const EVENTS_EACH = 3;

export const groups: Scene = {
  title: `${GROUPS} groups of one webhook with a few events each, beside no order`,
  sides: ['no order', 'in groups'],

  async measure(options) {
    const { build, short } = options;
    const many = short ? SHORT_GROUPS : GROUPS;
    const events = options.deliveries ?? many * EVENTS_EACH;
    const warmUp = Math.round(events * WARM_UP_SHARE);
    const side = (ordering: 'none' | 'group') => ({
      name: `ordering ${ordering}`,
      measure: async () =>
        await drainService(build, warmUp + events, {
          warmUp,
          filling: { endpoints: 1, endpoint: { ordering }, groups: many },
        }),
    });
    const raw = await inTurns({
      rounds: roundsOf(options),
      sides: [side('none'), side('group')],
      inShort: drainInShort,
    });
    return { verdicts: compareFigures(drainFiguresOf('groups'), raw.plain, raw.service), raw };
  },
};
