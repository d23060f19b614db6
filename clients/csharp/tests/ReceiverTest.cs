using System;
using System.Collections.Generic;
using System.Linq;
using System.Text;
using System.Threading.Tasks;
using static Hookferry.Tests.Program;

namespace Hookferry.Tests
{
    internal static class ReceiverTest
    {
        private const string Two = "{\"type\":\"batch\",\"data\":["
            + "{\"id\":\"evt_1\",\"type\":\"order.created\",\"timestamp\":\"2026-01-02T03:04:05.678Z\",\"data\":{}},"
            + "{\"id\":\"evt_2\",\"type\":\"order.created\",\"timestamp\":\"2026-01-02T03:04:05.678Z\",\"data\":{}}]}";

        private const string Problem = "The webhook could not";

        private static WebhookResponse Receive(string body, Func<WebhookEvent, WebhookResponse> handle, ReceiverOptions options = null)
        {
            options = options ?? new ReceiverOptions();
            options.Secrets = new[] { Secret };
            options.OnError = _ => { };
            return new Receiver(options).ReceiveAsync(Encoding.UTF8.GetBytes(body), Signed("evt_0", body),
                each => Task.FromResult(handle(each))).Result;
        }

        private static void Expect(WebhookResponse found, int status, string body = "", string header = null, string value = null)
        {
            Same(status, found.Status, "the status");
            if (header != null) Same(value, found.Headers.TryGetValue(header, out var given) ? given : null, header);
            Same(true, body == "" ? found.Body == "" : found.Body.StartsWith(body, StringComparison.Ordinal), found.Body);
        }

        private static WebhookResponse Fail(WebhookEvent each) => throw new InvalidOperationException("database is down");

        public static void RespondsToOneEvent()
        {
            Expect(Receive(Order, _ => null), 204);
            Expect(Receive(Order, Fail), 500, Problem);
            Expect(Receive(Order, _ => WebhookResponse.Abort()), 422, "", "webhook-delivery", "abort");
            Expect(Receive(Order, _ => WebhookResponse.Disable()), 503, "", "webhook-delivery", "disable");
            Expect(Receive(Order, _ => WebhookResponse.RetryAfter(60)), 503, "", "retry-after", "60");
            Expect(Receive("{\"type\":\"webhook.verification\",\"data\":{\"challenge\":\"a\\\"\"}}", Fail), 200,
                "{\"challenge\":\"a\\\"\"}", "content-type", "application/json");
        }

        public static void RespondsToSeveralEvents()
        {
            Expect(Receive(Two, _ => null), 204);
            Expect(Receive(Two, each => each.Id == "evt_2" ? Fail(each) : null), 200, "{\"failed\":[\"evt_2\"]}",
                "content-type", "application/json");
            Expect(Receive(Two, each => each.Id == "evt_1" ? WebhookResponse.RetryAfter(60) : null), 200,
                "{\"failed\":[\"evt_1\"]}", "retry-after", "60");
            Expect(Receive(Two, Fail), 500, Problem);
            Expect(Receive(Two, _ => WebhookResponse.Abort()), 422, "", "webhook-delivery", "abort");
            Expect(Receive(Two, each => each.Id == "evt_1" ? WebhookResponse.Abort() : WebhookResponse.RetryAfter(5)), 500, "",
                "retry-after", "5");
        }

        public static void LeavesTheRestOfABatchInOrder()
        {
            var calls = new List<string>();
            Receive(Two, each =>
            {
                calls.Add(each.Id);
                return Fail(each);
            }, new ReceiverOptions { InOrder = true });
            Same(new[] { "evt_1" }, calls, "the calls");
        }

        public static void RefusesWhatIsNotGenuine()
        {
            var options = new ReceiverOptions { Secrets = new[] { Secret }, MaxBytes = 100, OnError = _ => { } };
            var receiver = new Receiver(options);
            var headers = Signed("evt_1", Order).Where(header => header.Key != "Webhook-Id").ToList();
            Add(headers, "Webhook-Id", "evt_2");
            Expect(receiver.ReceiveAsync(Encoding.UTF8.GetBytes(Order), headers, each => Task.FromResult(Fail(each))).Result, 401,
                "no_match: No signature in webhook-signature");
            Expect(receiver.ReceiveAsync(new byte[101], headers, each => Task.FromResult(Fail(each))).Result, 413,
                "The body has more than 100 bytes");
            Same("missing_secret", Ending(() => new Receiver(new ReceiverOptions())), "no secret");
            var unset = new ReceiverOptions { Secrets = new[] { Environment.GetEnvironmentVariable("NOT_SET") } };
            Same("missing_secret", Ending(() => new Receiver(unset)), "an unset one");
        }

        public static void HandlesAnEventOnce()
        {
            var (calls, store) = (0, new MemoryStore());
            var statuses = new List<int>();
            for (var round = 0; round < 3; round++)
            {
                statuses.Add(Receive(Order, each => ++calls == 1 ? Fail(each) : null, new ReceiverOptions { Dedupe = store }).Status);
            }
            Same(new[] { 500, 204, 204 }, statuses, "the statuses");
            Same(2, calls, "the calls");
        }

        public static void MemoryStoreStoresIds()
        {
            var now = DateTimeOffset.FromUnixTimeSeconds(0);
            var store = new MemoryStore(2, TimeSpan.FromSeconds(100), () => now);
            Action<string, Claim> expect = (id, claim) =>
                Same(claim.ToString(), store.ClaimAsync(id, TimeSpan.FromSeconds(10)).Result.ToString(), id);
            expect("a", Claim.Claimed);
            expect("a", Claim.Busy);
            store.ReleaseAsync("a").Wait();
            expect("a", Claim.Claimed);
            now = now.AddSeconds(10);
            expect("a", Claim.Claimed); // Its lease has ended.
            store.CommitAsync("a").Wait();
            store.ReleaseAsync("a").Wait();
            expect("a", Claim.Done);
            now = now.AddSeconds(100);
            expect("a", Claim.Claimed); // Its time has ended.
            foreach (var id in new[] { "a", "b", "c" }) store.CommitAsync(id).Wait();
            expect("a", Claim.Claimed); // The oldest of more than two.
            expect("b", Claim.Done);
        }

        public static void OfManyThreadsOneGetsTheClaim()
        {
            var store = new MemoryStore();
            var claims = Enumerable.Range(0, 64).AsParallel().Select(_ => store.ClaimAsync("a", TimeSpan.FromSeconds(10)).Result);
            Same(1, claims.ToList().Count(claim => claim == Claim.Claimed), "the claims");
        }

        public static void RefusesWhatIsNoJson()
        {
            var texts = new[] { "", "{", "[1,]", "{\"a\":1,}", "01", "1.", "-", "+1", "'a'", "\"\t\"", "\"\\x\"", "\"\\u12\"", "nul", "1 2",
                "\"a", new string('[', 600) + new string(']', 600) };
            foreach (var text in texts)
            {
                try
                {
                    JsonReader.Parse(text);
                }
                catch (FormatException)
                {
                    continue;
                }
                throw new Exception(text + " is accepted");
            }
            const string good = "[{\"a\":-1.50e2,\"b\":[true,null,\"é\\u00e9\\n\"]}]";
            Same(good, JsonReader.Parse($" {good} ").Text, "the text");
        }
    }
}
