using System;
using System.Collections.Generic;

namespace Hookferry
{
    /// <summary>A verified event, whichever format its request had.</summary>
    public sealed class WebhookEvent
    {
        /// <summary>The same on every attempt. Null only with X-Service-Signature alone, which covers no header.</summary>
        public string Id { get; internal set; }

        /// <summary>When its request was signed. Null if that was not signed.</summary>
        public DateTimeOffset? Timestamp { get; internal set; }

        public string Type { get; internal set; }

        /// <summary>
        /// The JSON of the data as it was published, for the JSON library of your choice, such as
        /// JsonSerializer.Deserialize. Null if a CloudEvent has none.
        /// </summary>
        public string DataJson { get; internal set; }

        /// <summary>The same as dictionaries, lists, strings, long, double, bool and null.</summary>
        public object Data { get; internal set; }

        /// <summary>When the service accepted it (RFC 3339). Null in the format "native".</summary>
        public string AcceptedAt { get; internal set; }

        /// <summary>All attributes if it came as a CloudEvent, or null.</summary>
        public IReadOnlyDictionary<string, object> CloudEvent { get; internal set; }
    }

    /// <summary>The content of a verified request.</summary>
    public sealed class VerifiedRequest
    {
        /// <summary>In the order in which the service accepted them.</summary>
        public IReadOnlyList<WebhookEvent> Events { get; internal set; }

        /// <summary>
        /// Whether the request is a list, also of one event. A 2xx then accepts all its events. With the body
        /// {"failed": [ids]} it accepts all others.
        /// </summary>
        public bool IsBatch { get; internal set; }
    }

    /// <summary>The signed facts besides the body. X-Service-Signature covers neither of them: then both are null.</summary>
    public sealed class Signed
    {
        public string Id { get; internal set; }
        public DateTimeOffset? Timestamp { get; internal set; }
    }
}
