# frozen_string_literal: true

require_relative "hookferry/verification_error"
require_relative "hookferry/memory_store"
require_relative "hookferry/response"
require_relative "hookferry/receiver"
