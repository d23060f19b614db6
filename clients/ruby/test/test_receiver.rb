# frozen_string_literal: true

require "stringio"
require_relative "helper"

class ReceiverTest < Minitest::Test
  Response = Hookferry::Response
  TWO = '{"type":"batch","data":[{"id":"evt_1","type":"order.created","timestamp":"2026-01-02T03:04:05.678Z","data":{}},' \
        '{"id":"evt_2","type":"order.created","timestamp":"2026-01-02T03:04:05.678Z","data":{}}]}'
  JSON_TYPE = { "content-type" => "application/json" }.freeze
  PROBLEM = "The webhook could not"

  def receive(body, **options, &handle)
    receiver = Hookferry::Receiver.new(secret: SECRET, on_error: ->(_) {}, **options, &handle)
    receiver.receive(body, signed("evt_0", body))
  end

  def assert_response(found, status, body = "", headers = {})
    assert_equal [status, headers], [found.status, found.headers]
    assert body.empty? ? found.body.empty? : found.body.start_with?(body), found.body
  end

  def test_responds_to_one_event
    assert_response receive(ORDER) { nil }, 204
    assert_response receive(ORDER) { raise "database is down" }, 500, PROBLEM
    assert_response receive(ORDER) { Response.abort }, 422, "", { "webhook-delivery" => "abort" }
    assert_response receive(ORDER) { Response.disable }, 503, "", { "webhook-delivery" => "disable" }
    assert_response receive(ORDER) { Response.retry_after(60) }, 503, "", { "retry-after" => "60" }
    challenge = '{"type":"webhook.verification","data":{"challenge":"abc"}}'
    assert_response receive(challenge) { raise "it was handled" }, 200, '{"challenge":"abc"}', JSON_TYPE
  end

  def test_responds_to_several_events
    assert_response receive(TWO) { nil }, 204
    assert_response receive(TWO) { |event| raise "no" if event.id == "evt_2" }, 200, '{"failed":["evt_2"]}', JSON_TYPE
    assert_response receive(TWO) { |event| event.id == "evt_1" ? Response.retry_after(60) : nil },
                    200, '{"failed":["evt_1"]}', { "retry-after" => "60", **JSON_TYPE }
    assert_response receive(TWO) { raise "no" }, 500, PROBLEM
    assert_response receive(TWO) { Response.abort }, 422, "", { "webhook-delivery" => "abort" }
    assert_response receive(TWO) { |event| event.id == "evt_1" ? Response.abort : Response.retry_after(5) },
                    500, "", { "retry-after" => "5" }
  end

  def test_leaves_the_rest_of_a_batch_in_order
    calls = 0
    receive(TWO, in_order: true) { raise "no #{calls += 1}" }
    assert_equal 1, calls
  end

  def test_refuses_what_is_not_genuine
    receiver = Hookferry::Receiver.new(secret: SECRET, max_bytes: 100, on_error: ->(_) {}) { raise "it was handled" }
    forged = receiver.receive(ORDER, { **signed("evt_1", ORDER), "Webhook-Id" => "evt_2" })
    assert_response forged, 401, "no_match: No signature in webhook-signature is valid."
    assert_response receiver.receive(" " * 101, {}), 413, "The body has more than 100 bytes"
    assert_equal("missing_secret", ending { Hookferry::Receiver.new(secret: ENV["NOT_SET"]) })
  end

  def test_is_a_rack_application
    app = Hookferry::Receiver.new(secret: SECRET, max_bytes: 100, on_error: ->(_) {}) { nil }
    headers = signed("evt_1", ORDER).transform_keys { |name| "HTTP_#{name.tr("-", "_").upcase}" }
    request = ->(body) { app.call({ "REQUEST_METHOD" => "POST", "rack.input" => StringIO.new(body), **headers }) }
    assert_equal [204, {}, []], request.call(ORDER)
    assert_equal 401, request.call("{}").first
    assert_equal 413, request.call(" " * 101).first
    assert_equal 405, app.call({ "REQUEST_METHOD" => "GET" }).first
  end

  def test_handles_an_event_once
    calls = 0
    store = Hookferry::MemoryStore.new
    statuses = Array.new(3) do
      receive(ORDER, dedupe: store) { raise "no" if (calls += 1) == 1 }.status
    end
    assert_equal [[500, 204, 204], 2], [statuses, calls]
  end

  def test_memory_store
    now = 0
    store = Hookferry::MemoryStore.new(max_ids: 2, ttl_seconds: 100, clock: -> { now })
    assert_equal %i[claimed busy], [store.claim("a", 10), store.claim("a", 10)]
    store.release("a")
    assert_equal :claimed, store.claim("a", 10)
    now += 10
    assert_equal :claimed, store.claim("a", 10), "its lease has ended"
    store.commit("a")
    store.release("a")
    assert_equal :done, store.claim("a", 10)
    now += 100
    assert_equal :claimed, store.claim("a", 10), "its time has ended"
    %w[a b c].each { |id| store.commit(id) }
    assert_equal %i[claimed done], [store.claim("a", 10), store.claim("b", 10)], "the oldest of more than two"
  end

  def test_of_many_threads_one_gets_the_claim
    store = Hookferry::MemoryStore.new
    results = Array.new(16) { Thread.new { store.claim("a", 10) } }.map(&:value)
    assert_equal 1, results.count(:claimed)
  end
end
