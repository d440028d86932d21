# A minitest plugin that writes one JSON line per test next to its own folder; minitest finds it by RUBYLIB.
require "json"

module Minitest
  class SuiteReport < AbstractReporter
    MESSAGE_CHARACTERS = 2000

    def initialize
      super
      ENV["SUITE_REPORT_TAKEN"] = "1"
      name = "minitest-#{Process.pid}-#{Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)}.ndjson"
      folder = File.expand_path("../..", __dir__)
      @stream = File.open(File.join(folder, name), File::WRONLY | File::CREAT | File::EXCL)
      @stream.sync = true
      write(begin: "minitest")
    end

    def record(result)
      outcome = result.skipped? ? "skip" : result.passed? ? "pass" : "fail"
      file = result.respond_to?(:source_location) ? result.source_location.to_a[0].to_s : ""
      owner = result.respond_to?(:klass) ? result.klass : result.class.name
      message = outcome == "fail" ? result.failures.map { |one| "#{one.message}\n    at #{one.location}" }.join("\n") : ""
      write(file: file == "" || file == "unknown" ? "" : File.expand_path(file), names: [owner, result.name],
            outcome: outcome, message: message.scrub[0, MESSAGE_CHARACTERS])
    end

    def report
      write(end: true)
      @stream.close
    end

    private

    def write(line)
      @stream.puts(JSON.generate(line))
    end
  end

  def self.plugin_suite_report_init(_options)
    return if ENV["SUITE_REPORT_TAKEN"]
    reporter << SuiteReport.new
  end
end
