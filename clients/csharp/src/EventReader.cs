using System;
using System.Collections.Generic;
using System.Linq;
using System.Text;
using System.Text.RegularExpressions;
using static Hookferry.VerificationException;

namespace Hookferry
{
    /// <summary>Reads the events of a request whose signature is valid.</summary>
    internal sealed class EventReader
    {
        // In the order of the specification. Names of extensions can't be found in all kinds of headers.
        private static readonly string[] Attributes =
            { "specversion", "id", "source", "type", "time", "subject", "dataschema", "partitionkey" };

        private static readonly UTF8Encoding StrictUtf8 = new UTF8Encoding(false, true);

        private readonly Headers headers;
        private readonly Signed signed;
        private readonly bool takesBinary;

        internal EventReader(Headers headers, Signed signed, bool takesBinary)
        {
            this.headers = headers;
            this.signed = signed;
            this.takesBinary = takesBinary;
        }

        /// <summary>The body says which format it has, and no header does: no signature covers headers.</summary>
        internal VerifiedRequest Read(byte[] body)
        {
            var text = TextOf(body);
            if (headers.Read("ce-specversion") != null) return One(BinaryEvent(text));
            var payload = Parse(text);
            if (payload.Items != null) return Several(payload.Items, CloudEvent);
            var members = payload.Members ?? throw InvalidPayload("is not an object");
            if (members.ContainsKey("specversion")) return One(CloudEvent(payload));
            var type = TextIn(members, "type");
            members.TryGetValue("data", out var data);
            if (type == null || data == null) throw InvalidPayload("has no \"type\" and \"data\"");
            // No event has this type: each has a dot.
            if (type == "batch" && data.Items != null) return Several(data.Items, BatchItem);
            return One(Event(signed.Id, type, data, null, null));
        }

        private static VerifiedRequest One(WebhookEvent each) => new VerifiedRequest { Events = new[] { each } };

        private static VerifiedRequest Several(List<JsonNode> items, Func<JsonNode, WebhookEvent> read) =>
            new VerifiedRequest { Events = items.Select(read).ToList(), IsBatch = true };

        private WebhookEvent BatchItem(JsonNode item)
        {
            var members = item.Members ?? throw InvalidPayload("has an item that is not an object");
            var (id, type, acceptedAt) = (TextIn(members, "id"), TextIn(members, "type"), TextIn(members, "timestamp"));
            if (id == null || type == null || acceptedAt == null)
            {
                throw InvalidPayload("has an item without \"id\", \"type\" or \"timestamp\"");
            }
            members.TryGetValue("data", out var data);
            return Event(id, type, data, acceptedAt, null);
        }

        // One that is a JSON object. Its id is in the body, which is signed.
        private WebhookEvent CloudEvent(JsonNode item)
        {
            var members = item.Members ?? throw InvalidPayload("has an item that is not a CloudEvent");
            var attributes = members.Where(member => member.Key != "data")
                .ToDictionary(member => member.Key, member => member.Value.Plain());
            members.TryGetValue("data", out var data);
            return EventOf(attributes, RequiredText(attributes, "id"), data);
        }

        // One whose attributes are headers. Its id is that of the request, which is signed.
        private WebhookEvent BinaryEvent(string text)
        {
            if (!takesBinary)
            {
                throw InvalidPayload("comes with attributes as headers, and BinaryCloudEvents is not set");
            }
            var contentType = headers.Read("content-type") ?? "application/json";
            var isJson = Regex.IsMatch(contentType, "^[^;]*[/+]json\\b", RegexOptions.IgnoreCase);
            var data = isJson ? Parse(text) : new JsonNode { Value = text, Text = JsonReader.Quote(text) };
            var attributes = new Dictionary<string, object> { { "datacontenttype", contentType } };
            foreach (var name in Attributes)
            {
                var value = headers.Read("ce-" + name);
                if (value != null) attributes[name] = PercentDecoded(value);
            }
            attributes.TryGetValue("id", out var id);
            if (signed.Id != null && !signed.Id.Equals(id))
            {
                throw InvalidPayload("comes with a \"ce-id\" that is not the id that was signed");
            }
            return EventOf(attributes, signed.Id, data);
        }

        private WebhookEvent EventOf(Dictionary<string, object> attributes, string id, JsonNode data)
        {
            RequiredText(attributes, "id");
            RequiredText(attributes, "source");
            var type = RequiredText(attributes, "type");
            if (RequiredText(attributes, "specversion") != "1.0") throw InvalidPayload("is not a CloudEvent 1.0");
            attributes.TryGetValue("time", out var time);
            return Event(id, type, data, time as string, attributes);
        }

        private static string RequiredText(Dictionary<string, object> attributes, string name) =>
            attributes.TryGetValue(name, out var value) && value is string text && text != ""
                ? text
                : throw InvalidPayload("is not a CloudEvent 1.0");

        private WebhookEvent Event(
            string id, string type, JsonNode data, string acceptedAt, Dictionary<string, object> cloudEvent) =>
            new WebhookEvent
            {
                Id = id,
                Timestamp = signed.Timestamp,
                Type = type,
                Data = data?.Plain(),
                DataJson = data?.Text,
                AcceptedAt = acceptedAt,
                CloudEvent = cloudEvent,
            };

        private static string TextIn(Dictionary<string, JsonNode> members, string name) =>
            members.TryGetValue(name, out var node) ? node.Value as string : null;

        // As the HTTP binding of CloudEvents says. A text that is not percent-encoded UTF-8 is taken as it is.
        private static string PercentDecoded(string value)
        {
            if (Regex.IsMatch(value, "%(?![0-9a-fA-F]{2})")) return value;
            var bytes = new List<byte>();
            for (var index = 0; index < value.Length;)
            {
                var isEncoded = value[index] == '%';
                if (isEncoded) bytes.Add(Convert.ToByte(value.Substring(index + 1, 2), 16));
                else bytes.AddRange(Encoding.UTF8.GetBytes(value.Substring(index, 1)));
                index += isEncoded ? 3 : 1;
            }
            try
            {
                return StrictUtf8.GetString(bytes.ToArray());
            }
            catch (ArgumentException)
            {
                return value;
            }
        }

        private static string TextOf(byte[] body)
        {
            try
            {
                var text = StrictUtf8.GetString(body);
                return text.StartsWith("\uFEFF", StringComparison.Ordinal) ? text.Substring(1) : text;
            }
            catch (ArgumentException)
            {
                throw InvalidPayload("is not UTF-8");
            }
        }

        private static JsonNode Parse(string text)
        {
            try
            {
                return JsonReader.Parse(text);
            }
            catch (FormatException)
            {
                throw InvalidPayload("is not JSON");
            }
        }
    }
}
