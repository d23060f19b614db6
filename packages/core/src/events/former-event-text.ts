import type { AcceptedEvent, EventHead, Schedule } from '../domain/event';
import { formatTraceparent, parseTraceparent } from '../domain/trace';

/**
 * How the version before stores an event: the time of acceptance, a space, the type, then what else there is of it, each behind
 * a space: an @ if it is aimed at certain endpoints, an & if it is noted that a worker fans it out, its schedule, an = and its
 * group, a ^ and a traceparent, an ! and when its payload was erased; a line feed, the unchanged body. A schedule is ~ while it
 * waits, + once it is due, - once it was cancelled, the time at which it was published and, for one that was cancelled, a comma
 * and the time at which it would have been due.
 */
const AIMED = '@';
const QUEUED = '&';
const TRACED = '^';
const ERASED = '!';
const GROUPED = '=';
const SCHEDULE_MARKS = { waiting: '~', due: '+', cancelled: '-' } as const;
const SCHEDULE = /^([~+-])(\d+)(?:,(\d+))?$/;
const ZERO = 0x30;
const NINE = 0x39;

/** @param stored an event, or its beginning. */
export function isFormer(stored: string): boolean {
  const first = stored.charCodeAt(0);
  return first >= ZERO && first <= NINE;
}

export function encodeFormerEvent(event: AcceptedEvent): string {
  const { acceptedAt, type, body, endpointIds, isQueued, trace, schedule, group } = event;
  const head = encodeFormerHead({ acceptedAt, type, isAimed: endpointIds !== undefined });
  const queued = isQueued ? ` ${QUEUED}` : '';
  return `${head}${queued}${encodeSchedule(schedule)}${encodeGroup(group)}${encodeTrace(trace)}\n${body}`;
}

export function encodeFormerHead({ acceptedAt, type, isAimed }: EventHead): string {
  return `${acceptedAt} ${type}${isAimed ? ` ${AIMED}` : ''}`;
}

export function encodeFormerStored(head: EventHead, body: string): string {
  const { trace, erasedAt, schedule, group } = head;
  const erased = erasedAt === undefined ? '' : ` ${ERASED}${erasedAt}`;
  return `${encodeFormerHead(head)}${encodeSchedule(schedule)}${encodeGroup(group)}${encodeTrace(trace)}${erased}\n${body}`;
}

function encodeTrace(trace: EventHead['trace']): string {
  return trace === undefined ? '' : ` ${TRACED}${formatTraceparent(trace)}`;
}

function encodeGroup(group: string | undefined): string {
  return group === undefined ? '' : ` ${GROUPED}${encodeURIComponent(group)}`;
}

function encodeSchedule(schedule: Schedule | undefined): string {
  if (schedule === undefined) return '';
  const { state, publishedAt, deliverAt } = schedule;
  const wouldHaveBeen = state === 'cancelled' ? `,${deliverAt}` : '';
  return ` ${SCHEDULE_MARKS[state]}${publishedAt}${wouldHaveBeen}`;
}

export function isFormerNotedAsQueued(stored: string): boolean {
  return marksOf(stored).includes(QUEUED);
}

export function decodeFormerHead(stored: string): EventHead {
  const [acceptedAt, type = '', ...marks] = marksOf(stored);
  const erased = marks.find((mark) => mark.startsWith(ERASED));
  const traced = marks.find((mark) => mark.startsWith(TRACED));
  const trace = traced === undefined ? undefined : parseTraceparent(traced.slice(TRACED.length));
  const schedule = decodeSchedule(marks, Number(acceptedAt));
  const grouped = marks.find((mark) => mark.startsWith(GROUPED));
  return {
    acceptedAt: Number(acceptedAt),
    type,
    isAimed: marks.includes(AIMED),
    ...(erased === undefined ? {} : { erasedAt: Number(erased.slice(ERASED.length)) }),
    ...(trace === undefined ? {} : { trace }),
    ...(schedule === undefined ? {} : { schedule }),
    ...(grouped === undefined ? {} : { group: decodeURIComponent(grouped.slice(GROUPED.length)) }),
  };
}

function marksOf(stored: string): readonly string[] {
  return stored.slice(0, stored.indexOf('\n')).split(' ');
}

function decodeSchedule(marks: readonly string[], acceptedAt: number): Schedule | undefined {
  for (const text of marks) {
    const [, mark, publishedAt, deliverAt] = SCHEDULE.exec(text) ?? [];
    if (mark === undefined) continue;
    const state = mark === '~' ? 'waiting' : mark === '+' ? 'due' : 'cancelled';
    return { state, publishedAt: Number(publishedAt), deliverAt: Number(deliverAt ?? acceptedAt) };
  }
  return undefined;
}
