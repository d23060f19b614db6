using System;
using System.Collections.Generic;
using System.Globalization;

namespace Hookferry
{
    /// <summary>
    /// A response to the service. A handler can return one instead of null; the event then counts as not handled.
    /// </summary>
    public sealed class WebhookResponse
    {
        public int Status { get; }
        public IReadOnlyDictionary<string, string> Headers { get; }
        public string Body { get; }

        internal WebhookResponse(int status, IReadOnlyDictionary<string, string> headers = null, string body = "")
        {
            Status = status;
            Headers = headers ?? new Dictionary<string, string>();
            Body = body;
        }

        /// <summary>Gives this event up: the service makes no further attempt.</summary>
        public static WebhookResponse Abort() => With(422, "webhook-delivery", "abort");

        /// <summary>Disables the webhook. This event and later ones are held until somebody enables it.</summary>
        public static WebhookResponse Disable() => With(503, "webhook-delivery", "disable");

        /// <summary>Has the event sent again, after at least this time. The service waits for 24 hours at most.</summary>
        /// <param name="seconds">From 1.</param>
        public static WebhookResponse RetryAfter(int seconds)
        {
            if (seconds < 1) throw new ArgumentOutOfRangeException(nameof(seconds), "RetryAfter takes seconds from 1.");
            return With(503, "retry-after", seconds.ToString(CultureInfo.InvariantCulture));
        }

        internal static WebhookResponse Text(int status, string text, string retryAfter = null)
        {
            var headers = new Dictionary<string, string> { { "content-type", "text/plain; charset=utf-8" } };
            if (retryAfter != null) headers.Add("retry-after", retryAfter);
            return new WebhookResponse(status, headers, text);
        }

        private static WebhookResponse With(int status, string name, string value) =>
            new WebhookResponse(status, new Dictionary<string, string> { { name, value } });
    }
}
