import Foundation

/// An app that says who it is, and from then on nothing that makes sense.
enum Nonsense {
    static func talk() async {
        let environment = ProcessInfo.processInfo.environment
        let token = environment["REPRISE_PHONE_TOKEN"] ?? ""
        let lines = [
            #"{"app":{"token":"\#(token)"}}"#, "", "nonsense", "{}", "[[[[[[", "\u{0}\u{1}",
            #"{"call":{"id":1,"_0":{"launchMissiles":{}}}}"#,
            #"{"returned":{"order":987654321,"options":null}}"#,
            #"{"report":{"what":"\#(String(repeating: "w", count: 5_000))","detail":"","microseconds":-1}}"#,
            String(repeating: "[", count: 100_000), String(repeating: "x", count: 2_000_000),
            #"{"report":{"what":"tenThousand","detail":"","microseconds":9000000000000000000}}"#,
        ]
        guard let socket = connect(environment["REPRISE_PHONE"] ?? "") else { exit(3) }
        for line in lines {
            var bytes = Array((line + "\n").utf8)[...]
            while !bytes.isEmpty {
                let count = bytes.withUnsafeBytes { write(socket, $0.baseAddress, $0.count) }
                guard count > 0 else { break }
                bytes = bytes.dropFirst(count)
            }
        }
        while true { sleep(1_000) }
    }

    private static func connect(_ path: String) -> Int32? {
        signal(SIGPIPE, SIG_IGN)
        #if canImport(Darwin)
            let socket = Foundation.socket(AF_UNIX, SOCK_STREAM, 0)
        #else
            let socket = Foundation.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        #endif
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(100)) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Foundation.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        return result == 0 ? socket : nil
    }
}
