type Node = Readonly<Record<string, unknown>>;
/** Requests may accept more than before, and responses may say more: the two are compared in opposite directions. */
type Side = 'request' | 'response';

interface Comparing {
  readonly before: Node;
  readonly now: Node;
  readonly faults: string[];
  /** What pairs of named schemas differ in; of one that is within itself, nothing further. */
  readonly known: Map<string, readonly string[]>;
}

/**
 * What of the description of the API now would break a client that was written by the one before. Members, routes, values of
 * enums in responses and optional members of requests may be added: docs/api.md promises the rest.
 */
export function breakingChanges(before: Node, now: Node): readonly string[] {
  const comparing: Comparing = { before, now, faults: [], known: new Map() };
  for (const [path, operations] of entries(before.paths)) {
    for (const [method, operation] of entries(operations)) {
      const name = `${method.toUpperCase()} ${path}`;
      const found = at(at(now.paths, path), method);
      if (found === undefined) comparing.faults.push(`${name} is gone`);
      else compareOperation(comparing, name, operation as Node, found as Node);
    }
  }
  for (const [type, { post }] of entries(before.webhooks) as [string, { post: Node }][]) {
    const found = at(at(now.webhooks, type), 'post');
    if (found === undefined) comparing.faults.push(`The event type ${type} is gone`);
    else
      compareContent(comparing, 'response', `The event ${type}`, post.requestBody, at(found, 'requestBody'));
  }
  return comparing.faults;
}

function compareOperation(comparing: Comparing, name: string, before: Node, now: Node): void {
  const { faults } = comparing;
  if (before.operationId !== now.operationId) faults.push(`${name}: its operationId has changed`);
  const parameters = new Map(parametersOf(comparing.now, now));
  for (const [id, parameter] of parametersOf(comparing.before, before)) {
    const found = parameters.get(id);
    if (found === undefined) faults.push(`${name}: the parameter ${id} is gone`);
    else compareSchemas(comparing, 'request', `${name}: the parameter ${id}`, parameter.schema, found.schema);
    parameters.delete(id);
  }
  for (const [id, { required }] of parameters) {
    if (required === true) faults.push(`${name}: the parameter ${id} is new, and required`);
  }
  if (before.requestBody !== undefined) {
    compareContent(comparing, 'request', `${name}: the request`, before.requestBody, now.requestBody);
    if (at(before.requestBody, 'required') === false && at(now.requestBody, 'required') === true)
      faults.push(`${name}: the request's body has become required`);
  }
  for (const [status, response] of entries(before.responses)) {
    if (!/^[23]/.test(status)) continue;
    const found = at(now.responses, status);
    if (found === undefined) faults.push(`${name}: the response ${status} is gone`);
    else compareContent(comparing, 'response', `${name}: the response ${status}`, response, found);
  }
}

function parametersOf(document: Node, { parameters = [] }: Node): readonly [string, Node][] {
  return (parameters as readonly Node[]).map((parameter) => {
    const resolved = resolve(document, parameter);
    return [`${String(resolved.in)} ${String(resolved.name)}`, resolved];
  });
}

function compareContent(
  comparing: Comparing,
  side: Side,
  place: string,
  before: unknown,
  now: unknown,
): void {
  for (const [type, { schema }] of entries(at(before, 'content')) as [string, Node][]) {
    const found = at(at(now, 'content'), type);
    if (found === undefined) comparing.faults.push(`${place}: the media type ${type} is gone`);
    else compareSchemas(comparing, side, place, schema, at(found, 'schema'));
  }
}

function compareSchemas(
  comparing: Comparing,
  side: Side,
  place: string,
  before: unknown,
  now: unknown,
): void {
  if (at(before, '$ref') === undefined) return compareUnions(comparing, side, place, before, now);
  const pair = `${side} ${String(at(before, '$ref'))} ${String(at(now, '$ref'))}`;
  const known = comparing.known.get(pair);
  if (known) return void comparing.faults.push(...known);
  comparing.known.set(pair, []);
  const trial = { ...comparing, faults: [] };
  const name = String(at(before, '$ref')).split('/').at(-1);
  compareUnions(trial, side, `${name} in ${side}s`, before, now);
  comparing.known.set(pair, trial.faults);
  comparing.faults.push(...trial.faults);
}

function compareUnions(comparing: Comparing, side: Side, place: string, before: unknown, now: unknown): void {
  const [former, present] = [formsOf(comparing.before, before), formsOf(comparing.now, now)];
  // Each form that a client may send must still be taken, and each that it may get must be one that it knows.
  const [mustFit, among] = side === 'request' ? [former, present] : [present, former];
  for (const form of mustFit) {
    const faults = among.map((other) => {
      const trial = { ...comparing, faults: [] };
      const [one, two] = side === 'request' ? [form, other] : [other, form];
      const compare = '$ref' in one || '$ref' in two ? compareSchemas : compareForms;
      compare(trial, side, place, one, two);
      return trial.faults;
    });
    const [fewest = [`${place}: its form has changed`]] = faults.toSorted((a, b) => a.length - b.length);
    if (side === 'response' && fewest.length > 0 && isNewKind(comparing, form, among)) continue;
    comparing.faults.push(...fewest);
  }
}

/** A further kind of object beside others that are told apart by their `type`: as a further value of an enum. */
function isNewKind({ before, now }: Comparing, form: Node, among: readonly Node[]): boolean {
  const kindOf = (document: Node, of: Node) =>
    at(at(at(resolve(document, of), 'properties'), 'type'), 'const');
  const kind = kindOf(now, form);
  const former = among.map((other) => kindOf(before, other));
  return kind !== undefined && former.every((other) => other !== undefined && other !== kind);
}

const LEAST = ['minLength', 'minimum', 'minItems'];
const MOST = ['maxLength', 'maximum', 'maxItems'];

function compareForms(comparing: Comparing, side: Side, place: string, before: Node, now: Node): void {
  const { faults } = comparing;
  // One without a type may be anything.
  const wider = side === 'request' ? now : before;
  if (before.type !== now.type && wider.type !== undefined) {
    faults.push(`${place}: its type was ${String(before.type)}, and is ${String(now.type)}`);
    return;
  }
  if (side === 'request') {
    for (const value of valuesOf(before)) {
      if (valuesOf(now).length > 0 && !valuesOf(now).includes(value))
        faults.push(`${place}: the value ${JSON.stringify(value)} is no longer taken`);
    }
    if (valuesOf(before).length === 0 && valuesOf(now).length > 0)
      faults.push(`${place}: only some values are taken now`);
    for (const bound of LEAST) {
      if (Number(now[bound] ?? Number.NEGATIVE_INFINITY) > Number(before[bound] ?? Number.NEGATIVE_INFINITY))
        faults.push(`${place}: ${bound} has grown`);
    }
    for (const bound of MOST) {
      if (Number(now[bound] ?? Number.POSITIVE_INFINITY) < Number(before[bound] ?? Number.POSITIVE_INFINITY))
        faults.push(`${place}: ${bound} has shrunk`);
    }
    if (now.pattern !== undefined && now.pattern !== before.pattern)
      faults.push(`${place}: its pattern has changed`);
  }
  const required = (of: Node) => (of.required ?? []) as readonly string[];
  for (const [member, schema] of entries(before.properties)) {
    const found = at(now.properties, member);
    if (found === undefined) faults.push(`${place}: the member ${member} is gone`);
    else compareSchemas(comparing, side, `${place}, ${member}`, schema, found);
    if (side === 'response' && required(before).includes(member) && !required(now).includes(member))
      faults.push(`${place}: the member ${member} may be absent`);
  }
  if (side === 'request') {
    for (const member of required(now)) {
      if (!required(before).includes(member))
        faults.push(`${place}: the member ${member} has become required`);
    }
  }
  if (before.items !== undefined) compareSchemas(comparing, side, `${place}, items`, before.items, now.items);
  const [formerRest, rest] = [before.additionalProperties, now.additionalProperties];
  if (typeof formerRest === 'object' && typeof rest === 'object')
    compareSchemas(comparing, side, `${place}, other members`, formerRest, rest);
}

function valuesOf({ enum: values, const: value }: Node): readonly unknown[] {
  return (values as readonly unknown[] | undefined) ?? (value === undefined ? [] : [value]);
}

/** The forms of a schema, each of one type: unions, and lists of types, taken apart. */
function formsOf(document: Node, schema: unknown): readonly Node[] {
  const resolved = resolve(document, schema);
  const union = (resolved.anyOf ?? resolved.oneOf) as readonly unknown[] | undefined;
  // A named one is compared by its name, or a schema within itself would have no end.
  if (union)
    return union.flatMap((form) => ('$ref' in (form as Node) ? [form as Node] : formsOf(document, form)));
  if (Array.isArray(resolved.type)) return resolved.type.map((type: unknown) => ({ ...resolved, type }));
  return [resolved];
}

function resolve(document: Node, schema: unknown): Node {
  const reference = at(schema, '$ref');
  if (typeof reference !== 'string') return (schema ?? {}) as Node;
  const target = reference.slice(2).split('/').reduce<unknown>(at, document);
  return resolve(document, target);
}

function at(node: unknown, member: string): unknown {
  return typeof node === 'object' && node !== null ? (node as Node)[member] : undefined;
}

function entries(node: unknown): readonly [string, unknown][] {
  return typeof node === 'object' && node !== null ? Object.entries(node) : [];
}
