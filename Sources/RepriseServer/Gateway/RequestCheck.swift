package import NIOHTTP1
import RepriseWire

/// The requirements on a request's head, checked before anything else (RFC 9112 §3.2, §6.1).
package enum RequestCheck {
    /// The head's fault; nil for a valid one.
    package static func fault(in head: HTTPRequestHead) -> String? {
        let headers = head.headers
        let isOld = (head.version.major, head.version.minor) < (1, 1)
        if headers.contains(name: "Transfer-Encoding") {
            if isOld { return "HTTP/1.0 knows no Transfer-Encoding." }
            let codings = headers[canonicalForm: "Transfer-Encoding"]
            guard codings.last?.lowercased() == "chunked" else {
                return "The last Transfer-Encoding of a request is chunked."
            }
            if headers.contains(name: "Content-Length") {
                return "Send Transfer-Encoding or Content-Length, not both."
            }
        }
        let hosts = headers["Host"]
        if hosts.isEmpty, isOld { return nil }
        guard hosts.count == 1, isHost(hosts[0]) else {
            return "Send one Host: a name or an address, and perhaps a port."
        }
        return nil
    }

    /// Whether a text is `uri-host [":" port]` with a non-empty host (RFC 9110 §4.2.1, §7.2).
    package static func isHost(_ text: String) -> Bool {
        var rest = Array(text.utf8)[...]
        if rest.first == UInt8(ascii: "[") {
            guard let end = rest.firstIndex(of: UInt8(ascii: "]")) else { return false }
            let address = rest[..<end].dropFirst()
            guard address.contains(UInt8(ascii: ":")),
                address.allSatisfy({ isHex($0) || ":.".utf8.contains($0) })
            else { return false }
            rest = rest[(end + 1)...]
        } else {
            let name = rest.prefix { $0 != UInt8(ascii: ":") }
            guard isName(name) else { return false }
            rest = rest[name.endIndex...]
        }
        guard let colon = rest.first else { return true }
        let port = rest.dropFirst()
        return colon == UInt8(ascii: ":") && port.count <= 5
            && port.allSatisfy { (0x30...0x39).contains($0) }
            && (Int(String(decoding: port, as: UTF8.self)) ?? 0) <= 65_535
    }

    private static func isName(_ name: ArraySlice<UInt8>) -> Bool {
        var index = name.startIndex
        while index < name.endIndex {
            switch name[index] {
            case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: index += 1
            case UInt8(ascii: "%"):
                guard index + 2 < name.endIndex, isHex(name[index + 1]), isHex(name[index + 2])
                else { return false }
                index += 3
            case let byte:
                guard "-._~!$&'()*+,;=".utf8.contains(byte) else { return false }
                index += 1
            }
        }
        return !name.isEmpty
    }

    private static func isHex(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
        default: false
        }
    }
}
