import JSON
import Testing

struct JSONObjectTests {
  @Test func `members keep their order, and those without a value are left out`() {
    let missing: String? = nil
    let object: JSONObject = [
      "b": "text \"1\"", "a": 1, "none": missing, "list": [1, 2], "half": 0.5, "yes": true, "null": JSONValue.null,
      "inner": ["z": Int64.max, "y": [] as [String]] as JSONObject,
    ]
    #expect(
      object.line == #"{"b":"text \"1\"","a":1,"list":[1,2],"half":0.5,"yes":true,"null":null,"#
        + #""inner":{"z":9223372036854775807,"y":[]}}"# + "\n")
  }

  @Test func `counts are written in the order of their names, and a sum has the members of both`() {
    let sum = JSONObject([("new", 2)]) + ["refused": JSONObject(["b": 1, "a": 3])]
    #expect(String(decoding: sum.bytes, as: UTF8.self) == #"{"new":2,"refused":{"a":3,"b":1}}"#)
  }
}
