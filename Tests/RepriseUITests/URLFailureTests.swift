import Foundation
import RepriseCore
import RepriseExtension
import Testing

@Suite("Errors of the system's networking")
struct URLFailureTests {
    @Test(
        "An unanswered request is named by its reason",
        arguments: [
            (-1_001, RepriseError.Code.timedOut), (-1_200, .untrusted), (-1_202, .untrusted),
            (-1_206, .untrusted), (-1_022, .badConfiguration), (-1_004, .unreachable),
            (-1_009, .unreachable), (0, .unreachable),
        ])
    func unanswered(code: Int, expected: RepriseError.Code) {
        let error = URLFailure.unanswered(code, cause: CancellationError())
        #expect((error as? RepriseError)?.code == expected)
    }

    @Test("A cancelled request is cancelled")
    func cancelled() {
        #expect(
            URLFailure.unanswered(-999, cause: SocketFailure("cancelled")) is CancellationError)
    }

    @Test("A busy server has another error than one that is not Reprise")
    func refused() {
        for status in [429, 502, 503, 504] {
            #expect(URLFailure.refused(status).code == .unavailable, "\(status)")
        }
        for status in [200, 301, 400, 401, 403, 404, 426, 500] {
            #expect(URLFailure.refused(status).code == .notReprise, "\(status)")
        }
    }

    @Test("Only a code that a frame carries is the peer's")
    func peerCode() {
        let codes = [0, -1, 1_000, 1_005, 1_006, 1_015, 4_001, 65_536].map(URLFailure.peerCode)
        #expect(codes == [nil, nil, 1_000, 1_005, nil, nil, 4_001, nil])
    }
}
