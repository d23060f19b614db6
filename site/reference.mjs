// @ts-check
/** Every route of the API as Markdown: parameters, examples in curl, JavaScript and Python, response and errors. */

/** @param {any} api */
export function describeReference(api) {
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(/** @type {Record<string, any>} */ (methods)).map(([method, operation]) => ({
      path,
      method,
      operation,
    })),
  );
  const parts = api.tags.flatMap((/** @type {any} */ { name, description }) => [
    `## ${name}\n\n${description}`,
    ...operations
      .filter(({ operation }) => operation.tags.includes(name))
      .map((one) => describeOperation(api, one)),
  ]);
  return `# Reference\n\nWritten from the description of the API. ${operations.length} routes.\n\n${parts.join('\n\n')}\n\n${describeErrors(api)}\n`;
}

/** @param {any} api @param {{ path: string, method: string, operation: any }} one */
function describeOperation(api, { path, method, operation }) {
  const parameters = operation.parameters.map((/** @type {any} */ one) => resolve(api, one));
  const body = Object.values(operation.requestBody?.content ?? {})[0]?.example;
  return [
    `### ${operation.summary}`,
    `\`${method.toUpperCase()} ${path}\``,
    operation.description,
    drawParameters(parameters),
    drawCalls(fill(path, parameters), path, method, body, parameters),
    ...Object.entries(operation.responses).map(([status, response]) => describeResponse(status, response)),
  ]
    .filter(Boolean)
    .join('\n\n');
}

/** @param {any} api @param {any} node */
function resolve(api, node) {
  return node.$ref === undefined ? node : api.components.parameters[node.$ref.split('/').at(-1)];
}

/** @param {any[]} parameters */
function drawParameters(parameters) {
  if (parameters.length === 0) return '';
  const rows = parameters.map(
    ({ name, in: place, description = '' }) => `| \`${name}\` | ${place} | ${inCell(description)} |`,
  );
  return ['| Parameter | In | |', '| --- | --- | --- |', ...rows].join('\n');
}

/** @param {string} path @param {any[]} parameters */
function fill(path, parameters) {
  return path.replace(
    /\{(\w+)\}/g,
    (_, name) => parameters.find((one) => one.name === name)?.example ?? name,
  );
}

/** @param {string} url @param {string} path @param {string} method @param {any} body @param {any[]} parameters */
function drawCalls(url, path, method, body, parameters) {
  const json = body === undefined ? '' : JSON.stringify(body, null, 2);
  const isPatch = method === 'patch';
  const type = isPatch ? 'application/merge-patch+json' : 'application/json';
  const given = parameters
    .filter(({ in: place }) => place === 'path')
    .map(({ name, example }) => [name, example ?? name]);
  const options = [
    ...(given.length === 0 ? [] : [`params: { path: ${JSON.stringify(Object.fromEntries(given))} }`]),
    ...(json === '' ? [] : [`body: ${json}`]),
  ];
  const curl = [
    `curl -sS -X ${method.toUpperCase()} "$HOOKFERRY_URL${url}" -H "Authorization: Bearer $HOOKFERRY_API_KEY"`,
    ...(json === '' ? [] : [`-H 'Content-Type: ${type}'`, `-d '${json.replaceAll("'", "'\\''")}'`]),
  ];
  return [
    '::: code-group',
    `\`\`\`sh [curl]\n${curl.join(' \\\n  ')}\n\`\`\``,
    `\`\`\`js [JavaScript]\nconst data = await client.${method.toUpperCase()}('${path}'${options.length === 0 ? '' : `, { ${options.join(', ')} }`});\n\`\`\``,
    `\`\`\`python [Python]\nrequest = urllib.request.Request(os.environ["HOOKFERRY_URL"] + ${JSON.stringify(url)}, method="${method.toUpperCase()}",${json === '' ? '' : `\n    data=json.dumps(json.loads(${JSON.stringify(JSON.stringify(body))})).encode(),`}\n    headers={"Authorization": "Bearer " + os.environ["HOOKFERRY_API_KEY"]${json === '' ? '' : `, "Content-Type": "${type}"`}})\nwith urllib.request.urlopen(request) as response:\n    print(response.status, response.read().decode())\n\`\`\``,
    ':::',
  ].join('\n');
}

/** @param {string} status @param {any} response */
function describeResponse(status, response) {
  if (response.$ref !== undefined) return '';
  const [content] = Object.values(response.content ?? {});
  const example = content?.example;
  const shown =
    example === undefined || Number(status) >= 300
      ? ''
      : `\n\n\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``;
  return `**${status}**: ${response.description}${shown}`;
}

/** @param {any} api */
function describeErrors(api) {
  const codes = api.components.schemas.ErrorCode.enum.map((/** @type {string} */ code) => `- \`${code}\``);
  return `## All errors\n\nWhat each means is on the page of [errors](/errors.md).\n\n${codes.join('\n')}`;
}

/** @param {string} text */
function inCell(text) {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
