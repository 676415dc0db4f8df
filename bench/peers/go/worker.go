// A plain worker of the kind one writes in an afternoon: BRPOP, build the payload, POST it over HTTP/2, take the next.
// It keeps nothing of a job it has popped: what it holds when it dies is lost.
package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/golang-jwt/jwt"
	"github.com/gomodule/redigo/redis"
	"golang.org/x/net/http2"
)

const providerTokenAge = 40 * time.Minute

type job struct {
	ID string `json:"id"`
	To struct {
		Token string `json:"token"`
	} `json:"to"`
	Title string `json:"title"`
	Body  string `json:"body"`
}

type alert struct {
	Title string `json:"title"`
	Body  string `json:"body"`
}

type payload struct {
	APS struct {
		Alert alert  `json:"alert"`
		Sound string `json:"sound"`
	} `json:"aps"`
}

type sender struct {
	client *http.Client
	origin string
	topic  string
	keyID  string
	teamID string
	key    *ecdsa.PrivateKey

	mutex    sync.Mutex
	token    string
	issuedAt time.Time
}

func newSender() (*sender, error) {
	authority, err := os.ReadFile(os.Getenv("APNS_CA_CERT"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	pem, err := os.ReadFile(os.Getenv("APNS_KEY_PATH"))
	if err != nil {
		return nil, err
	}
	key, err := jwt.ParseECPrivateKeyFromPEM(pem)
	if err != nil {
		return nil, err
	}
	transport := &http2.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, StrictMaxConcurrentStreams: true}
	return &sender{
		client: &http.Client{Transport: transport, Timeout: 30 * time.Second},
		origin: os.Getenv("APNS_ENDPOINT_OVERRIDE"),
		topic:  os.Getenv("APNS_BUNDLE_ID"),
		keyID:  os.Getenv("APNS_KEY_ID"),
		teamID: os.Getenv("APNS_TEAM_ID"),
		key:    key,
	}, nil
}

func (s *sender) authorization() (string, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.token != "" && time.Since(s.issuedAt) < providerTokenAge {
		return s.token, nil
	}
	now := time.Now()
	unsigned := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{"iss": s.teamID, "iat": now.Unix()})
	unsigned.Header["kid"] = s.keyID
	signed, err := unsigned.SignedString(s.key)
	if err != nil {
		return "", err
	}
	s.token, s.issuedAt = "bearer "+signed, now
	return s.token, nil
}

func (s *sender) send(encoded []byte) error {
	var push job
	if err := json.Unmarshal(encoded, &push); err != nil {
		return err
	}
	var body payload
	body.APS.Alert = alert{push.Title, push.Body}
	body.APS.Sound = "default"
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequest("POST", s.origin+"/3/device/"+push.To.Token, bytes.NewReader(data))
	if err != nil {
		return err
	}
	authorization, err := s.authorization()
	if err != nil {
		return err
	}
	request.Header = http.Header{
		"Authorization":  {authorization},
		"Apns-Id":        {push.ID},
		"Apns-Topic":     {s.topic},
		"Apns-Push-Type": {"alert"},
		"Apns-Priority":  {"10"},
	}
	answer, err := s.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	reason, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, reason)
	}
	return err
}

func consume(s *sender, url string) {
	connection, err := redis.DialURL(url)
	if err != nil {
		log.Fatal(err)
	}
	defer connection.Close()
	for {
		popped, err := redis.ByteSlices(connection.Do("BRPOP", "push:jobs", 0))
		if err != nil {
			log.Fatal(err)
		}
		if err := s.send(popped[1]); err != nil {
			log.Print(err)
		}
	}
}

func main() {
	s, err := newSender()
	if err != nil {
		log.Fatal(err)
	}
	consumers, err := strconv.Atoi(os.Getenv("CONSUMERS"))
	if err != nil {
		log.Fatal("CONSUMERS: ", err)
	}
	for i := 0; i < consumers; i++ {
		go consume(s, os.Getenv("REDIS_URL"))
	}
	select {}
}
