import JSON
import Program
import Testing
import Usage

@testable import Martlet
@testable import Worker

struct QueueOptionTests {
  @Test(arguments: ["push:jobs", "push:jobs:high", "jobs", "push:results", "a:b", "martlet"])
  func `a list of any name of a producer can be a queue`(name: String) throws {
    #expect(try CommandLineWords(["list", "--queue", name], of: DeadCommand.self).queue() == name)
    let values = ["REDIS_URL": "redis://localhost", "MARTLET_QUEUES": name]
    #expect(try WorkerSettings(environment: values).worker.queues == [name])
  }

  @Test(arguments: [
    "martlet:{push:jobs}:dead", "push:result:lunch-1", "push:token:aa", "push:user:alice:tokens",
    "push:app:com.a:tokens:0",
    "push:instance:home", "push:events", "a b", "{a}", "a\nb", "",
  ])
  func `the command line and MARTLET_QUEUES refuse the same names in the same words`(name: String) throws {
    let line = try CommandLineWords(["list", "--queue", name], of: DeadCommand.self)
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
