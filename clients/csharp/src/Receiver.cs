using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading.Tasks;

namespace Hookferry
{
    /// <summary>The options of a receiver. It needs Secrets.</summary>
    public sealed class ReceiverOptions
    {
        /// <summary>
        /// The webhook's secret as it was issued (whsec_…), or several during a rotation: a signature by any is valid.
        /// </summary>
        public IReadOnlyCollection<string> Secrets { get; set; }

        /// <summary>The greatest difference of webhook-timestamp from now, in both directions. Default 300 s.</summary>
        public TimeSpan Tolerance { get; set; } = TimeSpan.FromSeconds(300);

        /// <summary>The operator's SIGNATURE_HEADER.</summary>
        public string ServiceHeader { get; set; } = "X-Service-Signature";

        /// <summary>The operator's SIGNATURE_PREFIX.</summary>
        public string ServicePrefix { get; set; } = "sha256=";

        /// <summary>Accepts CloudEvents whose attributes are headers. No signature covers those headers.</summary>
        public bool BinaryCloudEvents { get; set; }

        /// <summary>
        /// Stores the ids of handled events, so that an event that arrives twice is handled once. Default: none.
        /// </summary>
        public IDedupeStore Dedupe { get; set; }

        /// <summary>The longest time that a handler takes. Default 120 s. It has no effect without Dedupe.</summary>
        public TimeSpan Lease { get; set; } = Receiver.DefaultLease;

        /// <summary>Leaves the events of a batch after one that failed unhandled, for "ordering": "strict".</summary>
        public bool InOrder { get; set; }

        /// <summary>The longest accepted body. Default 1.25 MiB.</summary>
        public int MaxBytes { get; set; } = Receiver.DefaultMaxBytes;

        /// <summary>
        /// Gets the cause of each webhook that was not handled. Default: it is written to the standard error.
        /// </summary>
        public Action<Exception> OnError { get; set; } = error => Console.Error.WriteLine("Webhook not handled: "
            + (error is VerificationException refused ? $"{refused.Code}: {refused.Message}" : error.ToString()));

        /// <summary>The clock. Default: this machine's.</summary>
        public Func<DateTimeOffset> Now { get; set; } = () => DateTimeOffset.UtcNow;

        internal ReceiverOptions Copy() => (ReceiverOptions)MemberwiseClone();
    }

    /// <summary>Verifies requests, and has their events handled. It does not change, so threads may share it.</summary>
    public sealed class Receiver
    {
        /// <summary>The longest event is 256 KiB unless the operator of the service allows more.</summary>
        public const int DefaultMaxBytes = 1310720;

        /// <summary>
        /// Longer than the longest attempt (60 s): by then the service has given up waiting for the response.
        /// </summary>
        public static readonly TimeSpan DefaultLease = TimeSpan.FromSeconds(120);

        // The service tries again soon, and most handlers have finished by then.
        private const string BusyRetrySeconds = "10";
        private const string Delivery = "webhook-delivery";
        private const string RetryAfter = "retry-after";

        private readonly ReceiverOptions options;
        private readonly Signatures signatures;

        /// <exception cref="VerificationException">missing_secret or not_a_secret</exception>
        public Receiver(ReceiverOptions options)
        {
            this.options = options.Copy();
            signatures = new Signatures(options.Secrets, options.Tolerance, options.ServiceHeader, options.ServicePrefix);
        }

        /// <summary>
        /// Verifies a request, and returns its event. If there is a webhook-signature, it is verified by Standard Webhooks.
        /// Otherwise X-Service-Signature is verified.
        /// </summary>
        /// <param name="body">As it arrived.</param>
        /// <param name="headers">All of them, with names in any case. One that came twice is there twice.</param>
        /// <exception cref="VerificationException">
        /// Respond with 401. invalid_payload also for a request with several events.
        /// </exception>
        public WebhookEvent Verify(byte[] body, IEnumerable<KeyValuePair<string, string>> headers)
        {
            var request = VerifyEvents(body, headers);
            if (request.IsBatch) throw VerificationException.InvalidPayload("is a list: read it by VerifyEvents()");
            return request.Events[0];
        }

        /// <summary>Like Verify, for a webhook with "batch": returns all events of a request.</summary>
        /// <exception cref="VerificationException">As Verify does, for the request as a whole.</exception>
        public VerifiedRequest VerifyEvents(byte[] body, IEnumerable<KeyValuePair<string, string>> headers)
        {
            var signed = VerifySignature(body, headers);
            return new EventReader(new Headers(headers), signed, options.BinaryCloudEvents).Read(body);
        }

        /// <summary>Like Verify, but does not read the body.</summary>
        /// <exception cref="VerificationException">With any code but invalid_payload.</exception>
        public Signed VerifySignature(byte[] body, IEnumerable<KeyValuePair<string, string>> headers) =>
            signatures.Verify(body, new Headers(headers), options.Now());

        /// <summary>
        /// Verifies a request, answers the service's challenge or calls the handler for each event, and does not throw.
        /// </summary>
        /// <param name="body">Read one byte more than MaxBytes at most: a longer body gets 413.</param>
        /// <param name="headers">All of them.</param>
        /// <param name="handle">
        /// When it returns null, the event is handled. When it throws, the service sends the event again. It can return a
        /// WebhookResponse to tell the service something else.
        /// </param>
        public async Task<WebhookResponse> ReceiveAsync(
            byte[] body, IEnumerable<KeyValuePair<string, string>> headers, Func<WebhookEvent, Task<WebhookResponse>> handle)
        {
            if (body.Length > options.MaxBytes)
            {
                return WebhookResponse.Text(413, $"The body has more than {options.MaxBytes} bytes.\n");
            }
            VerifiedRequest request;
            try
            {
                request = VerifyEvents(body, headers);
            }
            catch (VerificationException error)
            {
                options.OnError(error);
                return WebhookResponse.Text(401, $"{error.Code}: {error.Message}\n");
            }
            if (request.IsBatch) return await HandleEachAsync(request.Events, handle).ConfigureAwait(false);
            var one = request.Events[0];
            return ProofOf(one) ?? await HandleOnceAsync(one, handle).ConfigureAwait(false);
        }

        // The response to a challenge, which the service wants before it sends events. Its signature was verified before.
        private static WebhookResponse ProofOf(WebhookEvent one)
        {
            if (one.Type != "webhook.verification" || !(one.Data is Dictionary<string, object> data)) return null;
            return data.TryGetValue("challenge", out var value) && value is string challenge
                ? Json($"{{\"challenge\":{JsonReader.Quote(challenge)}}}", new Dictionary<string, string>())
                : null;
        }

        private async Task<WebhookResponse> HandleOnceAsync(WebhookEvent one, Func<WebhookEvent, Task<WebhookResponse>> handle)
        {
            try
            {
                if (options.Dedupe == null || one.Id == null) return OrHandled(await handle(one).ConfigureAwait(false));
                var leaseEndsAt = options.Now() + options.Lease;
                switch (await options.Dedupe.ClaimAsync(one.Id, options.Lease).ConfigureAwait(false))
                {
                    case Claim.Done:
                        return new WebhookResponse(204);
                    case Claim.Busy:
                        return WebhookResponse.Text(409, "This event is being handled right now.\n", BusyRetrySeconds);
                    default:
                        return await HandleClaimedAsync(one, handle, leaseEndsAt).ConfigureAwait(false);
                }
            }
            catch (Exception error)
            {
                options.OnError(error);
                return WebhookResponse.Text(500, "The webhook could not be handled: the log of the receiver says why.\n");
            }
        }

        private async Task<WebhookResponse> HandleClaimedAsync(
            WebhookEvent one, Func<WebhookEvent, Task<WebhookResponse>> handle, DateTimeOffset leaseEndsAt)
        {
            var isHandled = false;
            try
            {
                var response = OrHandled(await handle(one).ConfigureAwait(false));
                isHandled = response.Status < 300;
                return response;
            }
            finally
            {
                await SettleAsync(one.Id, isHandled, leaseEndsAt).ConfigureAwait(false);
            }
        }

        // A failure of the store does not change the result of the event: the lease ends by itself.
        private async Task SettleAsync(string id, bool isHandled, DateTimeOffset leaseEndsAt)
        {
            try
            {
                // After the lease, the claim may belong to another process.
                if (isHandled) await options.Dedupe.CommitAsync(id).ConfigureAwait(false);
                else if (options.Now() < leaseEndsAt) await options.Dedupe.ReleaseAsync(id).ConfigureAwait(false);
            }
            catch (Exception error)
            {
                options.OnError(error);
            }
        }

        // One response for all events, which names those that failed.
        private async Task<WebhookResponse> HandleEachAsync(
            IReadOnlyList<WebhookEvent> events, Func<WebhookEvent, Task<WebhookResponse>> handle)
        {
            var refusals = new List<WebhookResponse>();
            var failed = new List<string>();
            foreach (var each in events)
            {
                var isLeft = options.InOrder && refusals.Count > 0;
                var response = isLeft ? refusals[0] : await HandleOnceAsync(each, handle).ConfigureAwait(false);
                if (response.Status <= 299) continue;
                refusals.Add(response);
                failed.Add(JsonReader.Quote(each.Id ?? ""));
            }
            if (refusals.Count == 0) return new WebhookResponse(204);
            var wishes = WishesOf(refusals);
            // A single event of a batch cannot be aborted: "abort" counts as a failure.
            return refusals.Count < events.Count
                ? Json($"{{\"failed\":[{string.Join(",", failed)}]}}", wishes)
                : RefuseAll(refusals, wishes);
        }

        // No event was handled: respond with an error status, so that the service treats the receiver as failing.
        private static WebhookResponse RefuseAll(List<WebhookResponse> refusals, Dictionary<string, string> wishes)
        {
            var first = refusals[0];
            var isSame = refusals.All(each =>
                each.Status == first.Status && ValueOf(each, Delivery) == ValueOf(first, Delivery));
            if (!isSame) return new WebhookResponse(500, wishes);
            var headers = first.Headers.ToDictionary(header => header.Key, header => header.Value);
            foreach (var wish in wishes) headers[wish.Key] = wish.Value;
            return new WebhookResponse(first.Status, headers, first.Body);
        }

        // The wishes of single events that apply to the whole webhook: to disable it, and how long to wait.
        private static Dictionary<string, string> WishesOf(List<WebhookResponse> refusals)
        {
            var wishes = new Dictionary<string, string>();
            if (refusals.Any(each => ValueOf(each, Delivery) == "disable")) wishes[Delivery] = "disable";
            var longest = refusals.Max(each => int.Parse(ValueOf(each, RetryAfter) ?? "0"));
            if (longest > 0) wishes[RetryAfter] = longest.ToString();
            return wishes;
        }

        private static string ValueOf(WebhookResponse response, string name) =>
            response.Headers.TryGetValue(name, out var value) ? value : null;

        private static WebhookResponse OrHandled(WebhookResponse response) => response ?? new WebhookResponse(204);

        private static WebhookResponse Json(string text, Dictionary<string, string> headers)
        {
            headers["content-type"] = "application/json";
            return new WebhookResponse(200, headers, text);
        }
    }
}
