import { z } from 'zod';
import { defineEventType } from '../event-type';

export const briefCreated = defineEventType({
  name: 'brief.created',
  description: 'A content brief was written and is ready to be read.',
  data: z.strictObject({
    brief_id: z.string().min(1).max(200).describe("The brief's id."),
    title: z.string().min(1).max(1_000).describe("The brief's title."),
    keyword: z.string().min(1).max(1_000).optional().describe('The search phrase that it is written for.'),
    url: z.url().max(2_048).optional().describe('Where it can be read.'),
  }),
  example: {
    brief_id: 'brf_82h1',
    title: 'How to choose running shoes',
    keyword: 'running shoes',
    url: 'https://app.example.com/briefs/brf_82h1',
  },
});
