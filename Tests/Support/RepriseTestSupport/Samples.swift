package import RepriseCore

/// A JSON string of so many bytes.
package func json(bytes: Int) -> [UInt8] {
    let quote = UInt8(ascii: "\"")
    return [quote] + [UInt8](repeating: UInt8(ascii: "x"), count: max(0, bytes - 2)) + [quote]
}

/// A tap on a notification with this request's id.
package func tap(
    _ request: String, at milliseconds: Int64 = 1, info: String = "{}", category: String = "",
    action: NotificationResponse.Action = .open
) -> NotificationResponse {
    var content = NotificationContent(title: "T", body: "B", info: Array(info.utf8))
    content.category = category
    return NotificationResponse(
        notification: DeliveredNotification(
            request: NotificationRequest(id: request, content: content),
            date: WallTime(milliseconds: milliseconds), isRemote: false), action: action)
}
