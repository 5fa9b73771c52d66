import HTTPTypes
import RepriseCore
import RepriseWire

/// Collects the answer to an NDJSON request: one line per line of the request, in order.
///
/// Its size is bounded by the number of lines. The status is 200 if all is stored, that of the
/// first refusal if nothing is, and 207 if some is.
struct StreamAnswer {
    private(set) var bytes: [UInt8] = []
    private(set) var lineCount = 0
    private var storedCount = 0
    private var firstRefusal: HTTPFailure?

    /// A message that is stored, now or earlier.
    mutating func stored(_ id: EntryID, _ seq: Int64, isDuplicate: Bool) {
        var json = JSONWriter(reserving: 96)
        PublishedMessage.write(id, seq, isDuplicate: isDuplicate, to: &json)
        storedCount += 1
        end(json.bytes)
    }

    /// A line that is not stored: `{"line":17,"id":…,"error":{…}}`, without the id if none was
    /// readable.
    mutating func refused(_ failure: HTTPFailure, id: EntryID?) {
        firstRefusal = firstRefusal ?? failure
        end(ErrorAnswer(error: failure, line: lineCount + 1, id: id?.text).json)
    }

    /// The whole request was refused after the lines so far.
    mutating func cut(_ failure: HTTPFailure) {
        firstRefusal = firstRefusal ?? failure
        bytes += failure.json
        bytes.append(UInt8(ascii: "\n"))
    }

    var status: HTTPResponse.Status {
        guard let firstRefusal else { return .ok }
        return storedCount == 0
            ? firstRefusal.status : .init(code: 207, reasonPhrase: "Multi-Status")
    }

    var headers: HTTPFields { storedCount == 0 ? firstRefusal?.headers ?? [:] : [:] }

    private mutating func end(_ json: [UInt8]) {
        bytes += json
        bytes.append(UInt8(ascii: "\n"))
        lineCount += 1
    }
}
