/// Bodies of which one field is missing, of another type, or out of range.
enum BadFields {
    static let all: [(operation: String, body: String)] =
        settings + changes + members + messages + positions + devices + subscriptions + notices

    private static let settings = [
        #"{}"#, #"{"visibility":1}"#, #"{"visibility":null}"#, #"{"visibility":"secret"}"#,
        #"{"visibility":"public","history":"none"}"#, #"{"visibility":"public","history":[]}"#,
        #"{"visibility":"public","title":7}"#, #"{"visibility":"public","retention":7}"#,
        #"{"visibility":"public","retention":[]}"#, #"{"visibility":"public","title":"a\u009bb"}"#,
        #"{"visibility":"public","retention":{"messages":0}}"#,
        #"{"visibility":"public","retention":{"seconds":-1}}"#,
        #"{"visibility":"public","retention":{"seconds":9007199254740991}}"#,
        #"{"visibility":"public","retention":{"bytes":1.5}}"#,
        #"{"visibility":"public","retention":{"bytes":9007199254740992}}"#,
        #"{"visibility":"public","retention":{"bytes":1,"bytes":2}}"#,
        #"{"visibility":"public","title":""# + String(repeating: "é", count: 129) + "\"}",
        #"{"visibility":"public","x":"# + String(repeating: "[", count: 600)
            + String(repeating: "]", count: 600) + "}",
        "{" + (0..<40).map { #""f\#($0)":1"# }.joined(separator: ",") + "}",
    ].map { ("PUT /v1/channels/{channel}", $0) }

    private static let changes = [
        #"{"visibility":null}"#, #"{"visibility":"secret"}"#, #"{"history":"none"}"#,
        #"{"title":7}"#, #"{"retention":7}"#, #"{"retention":{"messages":0}}"#,
        #"{"retention":{"seconds":-1}}"#, #"{"retention":{"bytes":1.5}}"#,
        #"{"title":"a\u000ab"}"#, #"{"title":"\u001b[2J"}"#, #"{"title":"a\u007f"}"#,
        #"{"title":"\u2028"}"#, #"{"title":"a\u202eb"}"#, #"{"title":"\u2066"}"#,
    ].map { ("PATCH /v1/channels/{channel}", $0) }

    private static let members = [#"{"role":"king"}"#, #"{"role":1}"#, #"{"role":{}}"#]
        .map { ("PUT /v1/channels/{channel}/members/{user}", $0) }

    private static let messages =
        [
            #"{"id":7,"body":1}"#, #"{"id":"","body":1}"#, #"{"id":"a b","body":1}"#,
            #"{"after":"","body":1}"#, #"{"id":"q"}"#, #"{"deletes":"m1","body":1}"#,
            #"{"deletes":"m1","edits":"m1","body":null}"#, #"{"edits":"\u0000","body":1}"#,
        ].map { ("POST /v1/channels/{channel}/messages", $0) }
        + [#"{"id":"q"}"#, #"{"id":"","body":1}"#, #"{"id":[],"body":1}"#]
        .map { ("PATCH /v1/channels/{channel}/messages/{id}", $0) }

    private static let positions = [
        #"{}"#, #"{"read":-1}"#, #"{"read":"1"}"#, #"{"read":1.0}"#, #"{"read":true}"#,
        #"{"read":9007199254740992}"#, #"{"delivered":1}"#, #"{"delivered":1,"device":""}"#,
        #"{"read":99999999999999999999999999}"#, #"{"device":"phone-1"}"#,
    ].map { ("PUT /v1/channels/{channel}/positions", $0) }

    private static let devices = [
        #"{}"#, #"{"platform":""}"#, #"{"platform":7}"#, #"{"platform":"ios","pushToken":""}"#,
        #"{"platform":"ios","pushToken":7}"#, #"{"platform":"ios","pushToken":"secret"}"#,
        #"{"platform":"ios","pushToken":"aab"}"#, #"{"platform":"ios","pushToken":"aa/bb?"}"#,
        #"{"platform":"ios","pushToken":"ａａ"}"#,
        #"{"platform":""# + String(repeating: "x", count: 65) + "\"}",
    ].map { ("PUT /v1/devices/{device}", $0) }

    private static let subscriptions = [
        "7", "{}", #"{"endpoint":"https://push.example.org/x"}"#,
        #"{"endpoint":"https://push.example.org/x","keys":{"p256dh":"AA","auth":"AA"}}"#,
        good("https://127.0.0.1/x"), good("http://push.example.org/x"), good("x"),
        good("https://10.0.0.7/x"),
    ].map { ("PUT /v1/devices/{device}", #"{"platform":"web","webPush":\#($0)}"#) }

    private static func good(_ endpoint: String) -> String {
        #"{"endpoint":"\#(endpoint)","keys":{"#
            + #""p256dh":"\#(RFC8291.receiver)","auth":"\#(RFC8291.secret)"}}"#
    }

    private static let notices =
        [
            "{}", #"{"from":"22:00","to":"22:00","timeZone":"UTC"}"#,
            #"{"from":"24:00","to":"07:00","timeZone":"UTC"}"#,
            #"{"from":"7:00","to":"08:00","timeZone":"UTC"}"#,
            #"{"from":"22:00","to":"07:00","timeZone":"Mars/Base"}"#,
            #"{"from":"22:00","to":"07:00","timeZone":"UTC","device":""}"#,
        ].map { ("PUT /v1/quiet-hours", $0) }
        + [#"{"until":-1}"#, #"{"until":"soon"}"#, #"{"exceptMentions":1}"#].map {
            ("PUT /v1/mutes/users/{user}", $0)
        }
}
