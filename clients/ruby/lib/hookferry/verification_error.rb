# frozen_string_literal: true

module Hookferry
  # Says why a request could not be verified. The message says what to do, and has no secret.
  class VerificationError < StandardError
    CONFIGURATION_CODES = %i[missing_secret not_a_secret not_a_key].freeze

    # code: does not change between versions: :missing_secret, :not_a_secret, :not_a_key, :missing_header, :timestamp_skew,
    #   :no_match or :invalid_payload.
    # header: its name, with :missing_header.
    # skew_seconds: the request's time minus this clock's, with :timestamp_skew. Negative: the request is too old.
    attr_reader :code, :header, :skew_seconds

    def initialize(code, message, header: nil, skew_seconds: nil)
      super(message)
      @code = code
      @header = header
      @skew_seconds = skew_seconds
    end

    # Whether the receiver's configuration is wrong, so that no request can be verified.
    def configuration_error?
      CONFIGURATION_CODES.include?(code)
    end

    # @api private
    def self.missing_header(name, what)
      new(:missing_header, "The header #{name} #{what}.", header: name)
    end

    # @api private
    def self.invalid_payload(what)
      new(:invalid_payload, "The signature is valid, but the body #{what}. " \
                            "If the service sent it, read the body yourself after verify_signature.")
    end
  end
end
