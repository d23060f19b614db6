import { z } from 'zod';
import { defineEventType } from '../event-type';
import { wholeNumber } from './whole-number';

export const importCompleted = defineEventType({
  name: 'import.completed',
  description: 'An import came to its end; rows that could not be taken in are counted in `failed_rows`.',
  data: z.strictObject({
    import_id: z.string().min(1).max(200).describe("The import's id."),
    source: z.string().min(1).max(200).describe('What was imported, such as `search_console` or `csv`.'),
    total_rows: wholeNumber({ min: 0 }).describe('Rows that were read.'),
    failed_rows: wholeNumber({ min: 0 }).describe('Rows among them that could not be taken in.'),
  }),
  example: { import_id: 'imp_4k9x', source: 'csv', total_rows: 1200, failed_rows: 3 },
});
