package main

import "go.mongodb.org/mongo-driver/v2/bson"

// office is an office's location, in the database and as JSON.
type office struct {
	ID                    bson.ObjectID `bson:"_id" json:"_id"`
	TenantID              bson.ObjectID `bson:"tenantId" json:"tenantId"`
	Name                  string        `bson:"name" json:"name"`
	Address               string        `bson:"address" json:"address"`
	Latitude              *float64      `bson:"latitude" json:"latitude,omitempty"`
	Longitude             *float64      `bson:"longitude" json:"longitude,omitempty"`
	Email                 *string       `bson:"email" json:"email,omitempty"`
	Phone                 *string       `bson:"phone" json:"phone,omitempty"`
	SendICalNotifications bool          `bson:"sendICalNotifications" json:"sendICalNotifications"`
	NotificationEmail     *string       `bson:"notificationEmail" json:"notificationEmail,omitempty"`
	CateringOrderEmail    *string       `bson:"cateringOrderEmail" json:"cateringOrderEmail,omitempty"`
	Options               options       `bson:"options" json:"options"`
}

type options struct {
	AvailableFromHour     *int  `bson:"availableFromHour" json:"availableFromHour,omitempty"`
	AvailableUntilHour    *int  `bson:"availableUntilHour" json:"availableUntilHour,omitempty"`
	AltSchedule           []int `bson:"altSchedule" json:"altSchedule,omitempty"`
	AltAvailableFromHour  *int  `bson:"altAvailableFromHour" json:"altAvailableFromHour,omitempty"`
	AltAvailableUntilHour *int  `bson:"altAvailableUntilHour" json:"altAvailableUntilHour,omitempty"`
}
