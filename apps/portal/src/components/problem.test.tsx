import { renderToStaticMarkup } from 'react-dom/server';
import { Router } from 'wouter';
import { ProblemError } from '../api/problem';
import { Problem } from './problem';

function textOf(error: Error, onRetry?: () => void): string {
  return renderToStaticMarkup(<Problem error={error} onRetry={onRetry} />).replaceAll(/<[^>]+>/g, ' ');
}

type Code = ProblemError['code'];
type Errors = ProblemError['validationErrors'];

function problem(status: number, code: Code = 'conflict', errors: Errors = []): ProblemError {
  return new ProblemError('A title', 'A detail.', status, code, undefined, errors);
}

it('says what happened, and what to do next, by the status', () => {
  expect(textOf(problem(409))).toMatch(
    /A title .*A detail\..*Something changed in the meantime: check it again\./s,
  );
  expect(textOf(problem(404))).toContain('It may have been deleted, or it may have expired.');
  expect(textOf(problem(429))).toContain('wait a moment');
});

it('tells how long the service wants to be asked nothing, and offers nothing until then', () => {
  const retryAt = new Date(new Date().getTime() + 90_000).toISOString();
  const error = new ProblemError('Slower', 'Wait.', 429, 'rate_limited', undefined, [], undefined, retryAt);
  const html = renderToStaticMarkup(<Problem error={error} onRetry={() => undefined} />);
  expect(html).toMatch(/<button[^>]* disabled=""[^>]*>Try again in 1:(30|29)</);
});

it('offers nothing to try again without a session, and says where one comes from', () => {
  const html = renderToStaticMarkup(
    <Problem error={problem(401, 'unauthenticated')} onRetry={() => undefined} />,
  );
  expect(html).not.toContain('<button');
  expect(html).toContain('Open the portal again');
});

it('leads away from what is not there, and offers to try nothing again', () => {
  const html = renderToStaticMarkup(
    <Router ssrPath="/deliveries">
      <Problem error={problem(404, 'not_found')} onRetry={() => undefined} />
    </Router>,
  );
  expect(html).not.toContain('<button');
  expect(html).toMatch(/<a href="[^"]*\/overview"[^>]*>To the overview</);
});

it('tells people who came by a link nothing of keys and scopes', () => {
  const text = textOf(problem(403, 'insufficient_scope'));
  expect(text).toContain('Your link does not allow that');
  expect(text).not.toMatch(/A title|A detail/);
});

it('names each field that is wrong, in place of where a program finds them', () => {
  const errors = [{ pointer: '/url', detail: 'must be an https URL' }];
  const text = textOf(problem(422, 'invalid_request', errors));
  expect(text).toMatch(/\surl\s+must be an https URL/);
  expect(text).not.toContain('A detail');
});

it('says of a fault of its own that it is one', () => {
  const text = textOf(new TypeError('x is undefined'));
  expect(text).toMatch(/This page has a fault .*x is undefined.*Reload the page\./s);
});

it('is an alert, for screen readers', () => {
  expect(renderToStaticMarkup(<Problem error={problem(500)} />)).toMatch(/^<div role="alert"/);
});
