import { z } from 'zod';
import { defineEventType } from '../event-type';
import { wholeNumber } from './whole-number';

export const keywordQuickWin = defineEventType({
  name: 'keyword.quick_win',
  description: 'A keyword was found that a small effort would lift in the search results.',
  data: z.strictObject({
    keyword: z.string().min(1).max(1_000).describe('The search phrase.'),
    position: wholeNumber({ min: 1 }).describe('Its present place in the search results; 1 is the top.'),
    volume: wholeNumber({ min: 0 }).describe('Searches a month.'),
  }),
  example: { keyword: 'buy red shoes', position: 11, volume: 2400 },
});
