import JSON
import Program
import Testing

@testable import Martlet
@testable import Worker

struct CommandLineWordsTests {
  @Test func `an option may be repeated`() throws {
    let line = try CommandLineWords(["a", "--bundle", "x", "--bundle=y", "b"], options: ["bundle"])
    #expect(line.positional == ["a", "b"])
    #expect(line.values("bundle") == ["x", "y"])
    #expect(line.value("bundle") == "y")
    #expect(line.values("other") == [])
  }

  @Test(arguments: ["push:jobs", "push:jobs:high", "jobs", "push:results", "a:b", "martlet"])
  func `a list of any name of a producer can be a queue`(name: String) throws {
    #expect(try CommandLineWords(["--queue", name], options: ["queue"]).queue() == name)
    let values = ["REDIS_URL": "redis://localhost", "MARTLET_QUEUES": name]
    #expect(try WorkerSettings(environment: values).worker.queues == [name])
  }

  @Test(arguments: [
    "martlet:{push:jobs}:dead", "push:result:lunch-1", "push:token:aa", "push:user:alice:tokens",
    "push:app:com.a:tokens:0",
    "push:instance:home", "push:events", "a b", "{a}", "a\nb", "",
  ])
  func `the command line and MARTLET_QUEUES refuse the same names in the same words`(name: String) throws {
    let line = try CommandLineWords(["--queue", name], options: ["queue"])
    #expect(throws: CommandError.usage("--queue takes a list name of \(SharedSettings.queueNameRule)")) {
      try line.queue()
    }
    let error = #expect(throws: ConfigurationFaults.self) {
      try WorkerSettings(environment: ["REDIS_URL": "redis://localhost", "MARTLET_QUEUES": "push:jobs,\(name)"])
    }
    #expect(error?.faults.map(\.place) == ["MARTLET_QUEUES"])
    #expect(error?.faults.first?.expected.hasSuffix(SharedSettings.queueNameRule) == true)
  }
}
