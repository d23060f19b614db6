import { join } from 'node:path';
import { ApiKeyStore } from '@hookferry/core/accounts/redis-api-key-store';
import { DEFAULT_ACCOUNT } from '@hookferry/core/domain/account';
import { connectRedis } from '@hookferry/core/platform/redis-connect';
import { buildApiKey } from '@hookferry/core/testing/build-api-key';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import type { Page } from 'playwright-core';
import { loadHistory } from '../history/load-history';
import { untilReady } from '../processes/built-service';
import { MeasuredProcess } from '../processes/measured-process';
import { percentile, printTable } from '../report';
import type { SuiteOptions } from '../suite';
import { inBrowser, linkFor } from './browser';

// Of 60 pictures a second, one that took so long is one that somebody missed.
const LATE_MS = 34;

/** How smoothly the list of deliveries scrolls in a real browser, from its top to its end, when few or very many rows were read. */
export async function measureScrolling({ build, redisUrl, short, deliveries }: SuiteOptions): Promise<void> {
  const many = deliveries ?? (short ? 1_000 : 10_000);
  const redis = connectRedis({ url: redisUrl, role: 'working', name: 'bench', emit: () => {} });
  await redis.flushdb();
  const { key, record } = buildApiKey({ accountId: DEFAULT_ACCOUNT });
  await new ApiKeyStore(redis).save(record);
  await loadHistory({ redis, accountId: record.accountId, deliveries: many });
  const port = await findClosedPort();
  const api = new MeasuredProcess(join(build, 'apps/api/dist/main.js'), {
    REDIS_URL: redisUrl,
    API_HOST: '127.0.0.1',
    API_PORT: String(port),
    LOG_LEVEL: 'error',
    RATE_LIMIT: '1000000/1s',
  });
  try {
    const url = `http://127.0.0.1:${port}`;
    await untilReady(url);
    await inBrowser(async (open) => {
      const page = await open();
      await page.goto(await linkFor(url, '/deliveries', { authorization: `Bearer ${key}` }));
      await page.locator('tbody tr[data-index]').first().waitFor();
      const rows: string[][] = [];
      for (const count of [many / 10, many]) {
        await readOnTo(page, count);
        const { frames, mostDrawn } = await scrollThrough(page);
        const late = frames.filter((frame) => frame > LATE_MS).length;
        const times = [percentile(frames, 0.5), percentile(frames, 0.99), Math.max(...frames)];
        const figures = times.map((figure) => figure.toFixed(1));
        rows.push([String(count), String(frames.length), ...figures, String(late), String(mostDrawn)]);
      }
      printTable(`Scrolling through the list of deliveries; from one picture to the next, ms`, [
        ['rows', 'pictures', 'p50', 'p99', 'longest', `over ${LATE_MS} ms`, 'rows in the page'],
        ...rows,
      ]);
    });
  } finally {
    await api.stop();
    await redis.flushdb();
    redis.disconnect();
  }
}

// About what a quick turn of a wheel moves between two pictures: ten rows.
const STEP_PX = 400;

interface Scrolled {
  /** Milliseconds from each picture to the next. */
  readonly frames: readonly number[];
  /** How many rows were in the page at most. */
  readonly mostDrawn: number;
}

/** Goes to the end of the list again and again, until so many rows of it have been read. */
async function readOnTo(page: Page, rows: number): Promise<void> {
  await page.evaluate(`(async () => {
    const table = document.querySelector('table');
    while (Number(table.ariaRowCount) <= ${rows}) {
      scrollTo(0, document.documentElement.scrollHeight);
      await new Promise(requestAnimationFrame);
    }
  })()`);
}

/** From the top to the end, a step for each picture that the browser draws. Throws if a row was not there when it came into view. */
async function scrollThrough(page: Page): Promise<Scrolled> {
  return (await page.evaluate(`(async () => {
    const picture = () => new Promise(requestAnimationFrame);
    const rowsInPage = () => document.querySelectorAll('tr[data-index]');
    scrollTo(0, 0);
    for (let i = 0; i < 30; i += 1) await picture();
    const frames = [];
    let mostDrawn = 0;
    let last = await picture();
    while (scrollY + innerHeight < document.documentElement.scrollHeight - 1) {
      scrollBy(0, ${STEP_PX});
      const now = await picture();
      frames.push(now - last);
      last = now;
      mostDrawn = Math.max(mostDrawn, rowsInPage().length);
      if (!document.elementFromPoint(innerWidth / 2, innerHeight / 2)?.closest('tr[data-index], thead')) {
        throw new Error('No row was there at ' + scrollY + ' px.');
      }
    }
    return { frames, mostDrawn };
  })()`)) as Scrolled;
}
