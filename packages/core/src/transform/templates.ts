/** Code to begin with, for receivers whose form is known. */
export interface TransformationTemplate {
  readonly name: string;
  readonly title: string;
  /** Where the receiver's form is described. */
  readonly form: string;
  readonly code: string;
}

// Each cuts its texts to what its receiver takes: a message that is too long is refused there as a whole.
export const transformationTemplates: readonly TransformationTemplate[] = [
  {
    name: 'slack',
    title: 'Slack, incoming webhook',
    form: 'https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks',
    code: `export default function (event) {
  const details = JSON.stringify(event.data, null, 2);
  return {
    body: {
      text: cut(event.type, 3000),
      blocks: [
        { type: 'header', text: { type: 'plain_text', text: cut(event.type, 150) } },
        { type: 'section', text: { type: 'mrkdwn', text: '\`\`\`' + cut(escape(details), 2900) + '\`\`\`' } },
        { type: 'context', elements: [{ type: 'mrkdwn', text: event.id + ' · ' + event.accepted_at }] },
      ],
    },
  };
}

const cut = (text, most) => (text.length > most ? text.slice(0, most - 1).replace(/[\\uD800-\\uDBFF]$/, '') + '…' : text);
const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
`,
  },
  {
    name: 'discord',
    title: 'Discord, webhook of a channel',
    form: 'https://discord.com/developers/docs/resources/webhook#execute-webhook',
    code: `export default function (event) {
  const details = JSON.stringify(event.data, null, 2);
  return {
    body: {
      embeds: [
        {
          title: cut(event.type, 256),
          description: '\`\`\`json\\n' + cut(details, 4000) + '\\n\`\`\`',
          timestamp: event.accepted_at,
          footer: { text: event.id },
        },
      ],
      // Nobody is called by a name that an event happens to contain.
      allowed_mentions: { parse: [] },
    },
  };
}

const cut = (text, most) => (text.length > most ? text.slice(0, most - 1).replace(/[\\uD800-\\uDBFF]$/, '') + '…' : text);
`,
  },
  {
    name: 'teams',
    title: 'Microsoft Teams, workflow with an adaptive card',
    form: 'https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using',
    code: `export default function (event) {
  const facts = Object.entries(Object(event.data))
    .slice(0, 20)
    .map(([title, value]) => ({ title: cut(title, 100), value: cut(textOf(value), 500) }));
  return {
    body: {
      type: 'message',
      attachments: [
        {
          contentType: 'application/vnd.microsoft.card.adaptive',
          contentUrl: null,
          content: {
            $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
            type: 'AdaptiveCard',
            version: '1.4',
            body: [
              { type: 'TextBlock', size: 'Large', weight: 'Bolder', text: event.type, wrap: true },
              { type: 'FactSet', facts },
              { type: 'TextBlock', isSubtle: true, text: event.id + ' · ' + event.accepted_at, wrap: true },
            ],
          },
        },
      ],
    },
  };
}

const textOf = (value) => (typeof value === 'string' ? value : JSON.stringify(value));
const cut = (text, most) => (text.length > most ? text.slice(0, most - 1).replace(/[\\uD800-\\uDBFF]$/, '') + '…' : text);
`,
  },
  {
    name: 'google-chat',
    title: 'Google Chat, webhook of a space',
    form: 'https://developers.google.com/workspace/chat/quickstart/webhooks',
    code: `export default function (event) {
  const details = JSON.stringify(event.data, null, 2);
  return { body: { text: '*' + event.type + '*\\n\`\`\`' + cut(details, 3800) + '\`\`\`\\n' + event.id } };
}

const cut = (text, most) => (text.length > most ? text.slice(0, most - 1).replace(/[\\uD800-\\uDBFF]$/, '') + '…' : text);
`,
  },
  {
    name: 'pagerduty',
    title: 'PagerDuty, Events API v2',
    form: 'https://developer.pagerduty.com/docs/send-alert-event',
    code: `// The integration key is the webhook's metadata "routing_key".
export default function (event) {
  return {
    body: {
      routing_key: event.webhook.metadata.routing_key,
      event_action: 'trigger',
      // An event that is sent again raises no second alert.
      dedup_key: event.id,
      payload: {
        summary: cut(event.type + ': ' + JSON.stringify(event.data), 1024),
        source: 'hookferry',
        severity: 'info',
        timestamp: event.accepted_at,
        class: event.type,
        custom_details: event.data,
      },
    },
  };
}

const cut = (text, most) => (text.length > most ? text.slice(0, most - 1).replace(/[\\uD800-\\uDBFF]$/, '') + '…' : text);
`,
  },
  {
    name: 'csv',
    title: 'A line of CSV',
    form: 'https://www.rfc-editor.org/rfc/rfc4180',
    code: `export default function (event) {
  const fields = [event.id, event.type, event.accepted_at, ...Object.values(Object(event.data))];
  return { body: fields.map(quoted).join(',') + '\\r\\n', headers: { 'content-type': 'text/csv; charset=utf-8' } };
}

const quoted = (value) => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /[",\\r\\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
};
`,
  },
];
