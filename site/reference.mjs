// @ts-check
/** The routes of the API as pages, one for each resource: parameters and members beside examples in curl, JavaScript and Python. */
import { PYTHON_CALLS } from './python-calls.mjs';

/** @typedef {{ path: string, method: string, operation: any, parameters: any[], body: any }} Route */

const NAMES = /** @type {Record<string, string>} */ ({
  'api-keys': 'API keys',
  me: 'Your own key',
  'audit-log': 'The audit log',
});

/** @param {string} tag */
export function nameOf(tag) {
  return NAMES[tag] ?? (tag.charAt(0).toUpperCase() + tag.slice(1)).replaceAll('-', ' ');
}

/** @param {any} api @returns {Map<string, string>} the Markdown of each page, by its name */
export function describeReference(api) {
  const routes = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(/** @type {Record<string, any>} */ (methods)).map(([method, operation]) => ({
      path,
      method,
      operation,
      parameters: operation.parameters.map((/** @type {any} */ one) => resolve(api, one)),
      body: Object.values(operation.requestBody?.content ?? {})[0],
    })),
  );
  const routesOf = (/** @type {string} */ tag) =>
    routes.filter(({ operation }) => operation.tags.includes(tag));
  return new Map([
    ['reference.md', describeIndex(api, routes, routesOf)],
    ...api.tags.map((/** @type {any} */ tag) => [
      `reference/${tag.name}.md`,
      describeResource(api, tag, routesOf(tag.name)),
    ]),
  ]);
}

/** @param {any} api @param {Route[]} routes @param {(tag: string) => Route[]} routesOf */
function describeIndex(api, routes, routesOf) {
  const parts = api.tags.map(
    (/** @type {any} */ { name, description }) =>
      [
        `## ${nameOf(name)} {#${name}}`,
        `[${description}](/reference/${name}.md)`,
        '| Route | |\n| --- | --- |',
      ].join('\n\n') +
      routesOf(name)
        .map(
          // Links of times when all routes were on one page lead to these ids.
          ({ method, path, operation: { summary } }) =>
            `\n| <span id="${anchorOf(summary)}">\`${method.toUpperCase()} ${path}\`</span> | [${summary}](/reference/${name}.md#${anchorOf(summary)}) |`,
        )
        .join(''),
  );
  return `# All routes\n\nThe ${routes.length} routes of the API, with a page for each resource. They are written from the [description of the API](/api.md), which is OpenAPI 3.1.\n\n${parts.join('\n\n')}\n\n${describeErrors(api)}\n`;
}

/** @param {any} api @param {any} tag @param {Route[]} routes */
function describeResource(api, { name, description }, routes) {
  return `---\naside: false\npageClass: reference\n---\n\n# ${nameOf(name)}\n\n${description}\n\n${routes.map((one) => describeRoute(api, one)).join('\n\n')}\n`;
}

/** @param {any} api @param {Route} route */
function describeRoute(api, route) {
  const { path, method, operation, parameters, body } = route;
  const about = [
    `## ${operation.summary}`,
    `<p class="route"><span class="method ${method}">${method.toUpperCase()}</span> <code>${path.replaceAll('/', '<wbr>/')}</code></p>`,
    operation.description,
    drawRows(
      'Parameters',
      parameters.map(({ name, in: place, required, description }) => ({
        name,
        note: required ? `${place}, required` : place,
        description,
      })),
    ),
    drawRows('Body', membersOf(api, body?.schema)),
    describeResponses(operation.responses),
  ];
  const code = [drawCalls(route), drawExample(operation.responses)];
  return [
    '<div class="operation">\n<div class="about">',
    ...about,
    '</div>\n<div class="code">',
    ...code,
    '</div>\n</div>',
  ]
    .filter(Boolean)
    .join('\n\n');
}

/** @param {any} api @param {any} node */
function resolve(api, node) {
  if (node?.$ref === undefined) return node;
  const [part, name] = node.$ref.split('/').slice(-2);
  return {
    ...api.components[part][name],
    ...(node.description !== undefined && { description: node.description }),
  };
}

/** @param {any} api @param {any} schema */
function membersOf(api, schema) {
  const { properties = {}, required = [] } = resolve(api, schema) ?? {};
  return Object.entries(properties).map(([name, given]) => {
    const member = resolve(api, given);
    const type = [member.type ?? '']
      .flat()
      .filter((one) => one !== 'null')
      .join(' or ');
    const note = [type, ...(required.includes(name) ? ['required'] : [])].filter(Boolean).join(', ');
    return { name, note, description: member.description };
  });
}

/** @param {string} title @param {{ name: string, note: string, description?: string }[]} rows */
function drawRows(title, rows) {
  if (rows.length === 0) return '';
  const drawn = rows.map(
    ({ name, note, description = '' }) =>
      `- \`${name}\` <span class="note">${note}</span>\n  ${inLine(description)}`,
  );
  return [`**${title}**`, '<div class="members">', drawn.join('\n'), '</div>'].join('\n\n');
}

/** @param {Record<string, any>} responses */
function describeResponses(responses) {
  const told = Object.entries(responses).filter(([, { description }]) => description !== undefined);
  const drawn = told.map(([status, { description }]) => `- **${status}** ${inLine(description)}`);
  return ['**Responses**', '<div class="members">', drawn.join('\n'), '</div>'].join('\n\n');
}

/** @param {Record<string, any>} responses */
function drawExample(responses) {
  const [status, response] = Object.entries(responses).find(([code]) => Number(code) < 300) ?? [];
  const [type, content] = Object.entries(response?.content ?? {})[0] ?? [];
  if (content?.example === undefined) return '';
  const { example } = content;
  const text = typeof example === 'string' ? example : JSON.stringify(example, null, 2);
  return `<p class="answers">Response ${status}</p>\n\n\`\`\`${type?.includes('json') ? 'json' : 'text'}\n${text}\n\`\`\``;
}

/** @param {Route} route */
function drawCalls(route) {
  return [
    '::: code-group',
    `\`\`\`sh [curl]\n${drawCurl(route)}\n\`\`\``,
    `\`\`\`js [JavaScript]\n${drawJavaScript(route)}\n\`\`\``,
    `\`\`\`python [Python]\n${drawPython(route)}\n\`\`\``,
    ':::',
  ].join('\n');
}

/** What the path's parameters are in examples. @param {Route} route @returns {[string, string | number][]} */
function givenPath({ parameters }) {
  return parameters
    .filter(({ in: place }) => place === 'path')
    .map(({ name, example, schema }) => [
      name,
      example ?? schema?.enum?.at(-1) ?? exampleOf(name, schema?.type),
    ]);
}

/** @param {string} name @param {string | undefined} type */
function exampleOf(name, type) {
  if (type === 'integer') return 1;
  // Contacts alone have an id without an example.
  return name === 'id' ? 'ct_01m7ze3thwae6532vdxr7r' : name;
}

/** @param {Route} route */
function filledPath(route) {
  const given = Object.fromEntries(givenPath(route));
  return route.path.replace(/\{(\w+)\}/g, (_, name) => String(given[name] ?? name));
}

/** @param {Route} route */
function drawCurl(route) {
  const { method, operation, body } = route;
  const isOpen = operation.security?.length === 0;
  return [
    `curl -sS ${method === 'get' ? '' : `-X ${method.toUpperCase()} `}"$HOOKFERRY_URL${filledPath(route)}"`,
    ...(isOpen ? [] : [`-H "Authorization: Bearer $HOOKFERRY_API_KEY"`]),
    ...(body?.example === undefined
      ? []
      : [
          `-H 'Content-Type: ${method === 'patch' ? 'application/merge-patch+json' : 'application/json'}'`,
          `-d '${JSON.stringify(body.example, null, 2).replaceAll("'", "'\\''")}'`,
        ]),
  ].join(' \\\n  ');
}

/** Routes whose responses the JavaScript client reads as they come. @type {Readonly<Record<string, string>>} */
const STREAMS = {
  exportDeliveries: 'exportDeliveries()',
  streamChanges: 'streamChanges()',
  streamListener: "streamListener('wh_01m7ze3thwae6532vdxr7r')",
};

/** @param {Route} route */
function drawJavaScript(route) {
  const { path, method, operation, body } = route;
  const stream = STREAMS[operation.operationId];
  if (stream !== undefined) return `for await (const item of client.${stream}) {\n  console.log(item);\n}`;
  if (operation.operationId === 'exportAuditLog')
    return [
      `const response = await fetch(\`\${process.env.HOOKFERRY_URL}${path}\`, {`,
      '  headers: { authorization: `Bearer ${process.env.HOOKFERRY_API_KEY}` },',
      '});',
      "for (const line of (await response.text()).split('\\n')) console.log(line);",
    ].join('\n');
  const given = givenPath(route);
  const options = {
    ...(given.length > 0 && { params: { path: Object.fromEntries(given) } }),
    ...(body?.example !== undefined && { body: body.example }),
  };
  const more = Object.keys(options).length === 0 ? '' : `, ${drawLiteral(options, JAVASCRIPT)}`;
  const isList = route.parameters.some(({ name }) => name === 'cursor');
  if (isList) return `for await (const item of client.paginate('${path}'${more})) {\n  console.log(item);\n}`;
  return `const result = await client.${method.toUpperCase()}('${path}'${more});`;
}

/** @param {Route} route */
function drawPython(route) {
  const { method, operation, body } = route;
  const known = PYTHON_CALLS[operation.operationId];
  if (operation.operationId in STREAMS && known === undefined)
    return '# The Python client has no method for this stream.';
  if (known === undefined) {
    const json = body?.example === undefined ? '' : `, json=${drawLiteral(body.example, PYTHON)}`;
    return `result = client.request("${method.toUpperCase()}", "${filledPath(route)}"${json})`;
  }
  const [, loop, name, list = ''] = /^(for )?([\w.]+)\((.*)\)$/.exec(known) ?? [];
  const values = { since: '2026-11-21T00:00:00Z', ...Object.fromEntries(givenPath(route)), ...body?.example };
  const named = list.split(', ').map((one) => one.split('=').at(-1));
  const left = Object.entries(body?.example ?? {}).filter(([key]) => !named.includes(key));
  const given =
    list === ''
      ? []
      : list.split(', ').flatMap((one) => {
          if (one === '**') return left.map(([key, value]) => `${key}=${drawLiteral(value, PYTHON)}`);
          const [key, of] = one.split('=');
          if (one === 'body') return [drawLiteral(body.example, PYTHON)];
          return [
            of === undefined
              ? drawLiteral(values[key ?? ''], PYTHON)
              : `${key}=${drawLiteral(values[of], PYTHON)}`,
          ];
        });
  const short = given.join(', ');
  const inside =
    short.length > 60 && given.length > 1 ? `\n${given.map((one) => indent(one) + ',').join('\n')}\n` : short;
  const call = `client.${name}(${inside})`;
  if (loop !== undefined) return `for item in ${call}:\n    print(item)`;
  return operation.responses['204'] === undefined ? `result = ${call}` : call;
}

/** @typedef {{ key: (name: string) => string, words: Readonly<Record<string, string>>, step: string, last: string, spaced: boolean }} Language */

/** @type {Language} */
const JAVASCRIPT = {
  key: (name) => (/^[a-z_]\w*$/i.test(name) ? name : `'${name}'`),
  words: {},
  step: '  ',
  last: ',',
  spaced: true,
};
/** @type {Language} */
const PYTHON = {
  key: (name) => JSON.stringify(name),
  words: { true: 'True', false: 'False', null: 'None' },
  step: '    ',
  last: ',',
  spaced: false,
};

/** On one line if it is short. @param {unknown} value @param {Language} language @returns {string} */
function drawLiteral(value, language) {
  if (typeof value !== 'object' || value === null) {
    const text = JSON.stringify(value);
    return language.words[text] ?? text;
  }
  const isList = Array.isArray(value);
  const parts = isList
    ? value.map((one) => drawLiteral(one, language))
    : Object.entries(value).map(([key, one]) => `${language.key(key)}: ${drawLiteral(one, language)}`);
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  const space = language.spaced && !isList && parts.length > 0 ? ' ' : '';
  const line = `${open}${space}${parts.join(', ')}${space}${close}`;
  if (line.length <= 64 && !line.includes('\n')) return line;
  return `${open}\n${parts.map((one) => indent(one, language.step) + language.last).join('\n')}\n${close}`;
}

/** @param {string} text @param {string} [step] */
function indent(text, step = '    ') {
  return text.replaceAll(/^/gm, step);
}

/** @param {any} api */
function describeErrors(api) {
  const codes = api.components.schemas.ErrorCode.enum.map((/** @type {string} */ code) => `- \`${code}\``);
  return `## All errors\n\nTheir meanings are on the page of [errors](/errors.md).\n\n${codes.join('\n')}`;
}

/** As the site makes ids of headings. @param {string} text */
function anchorOf(text) {
  return text
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');
}

/** @param {string} text */
function inLine(text) {
  return text.replaceAll('\n', ' ');
}
